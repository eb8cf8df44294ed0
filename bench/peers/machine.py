"""Where a result comes from: processor, versions, commit. No names of hosts or users."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

PACKAGES = (
    "grls",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "pylibkriging",
    "threadpoolctl",
)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit(root: Path) -> str | None:
    """Return the commit, with "-dirty" where files differ from it."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*"],
            cwd=root,
            check=True,
            capture_output=True,
            text=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def load_before() -> float | None:
    """Return the average number of processes that wanted a core during the last minute."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def facts(root: Path) -> dict[str, Any]:
    """Return what a reader needs to judge the numbers."""
    pools = [
        {key: pool.get(key) for key in ("user_api", "internal_api", "version", "architecture", "num_threads")}
        for pool in threadpool_info()
    ]
    return {
        "processor": _processor(),
        "cores": _cores(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "thread_pools": pools,
        "commit": _commit(root),
    }
