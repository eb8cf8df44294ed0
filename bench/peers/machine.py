"""Where a result comes from: processor, versions, commit, other work. No names of hosts or users."""

from __future__ import annotations

import os
import platform
import subprocess
import time
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


MEASURED = ("python/grls", "cpp", "CMakeLists.txt")  # what a figure is a figure of


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
    """Return the last commit that changed what is measured, with "-dirty" where files differ from it.

    A table that was stored, or a page about it, does not make another commit: all tables of one run name one.
    """

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
        ).stdout.strip()

    try:
        commit = git("log", "-1", "--format=%H", "--", *MEASURED)
        changed = git("status", "--porcelain", "--", *MEASURED, "bench", ":(exclude)bench/results")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{commit[:12]}{'-dirty' if changed else ''}" if commit else None


def _spent() -> tuple[float, float] | None:
    """Return the seconds that all cores together have worked, and have had, since the machine was started."""
    try:
        first = Path("/proc/stat").read_text().splitlines()[0].split()
        ticks = [int(text) for text in first[1:9]]  # user nice system idle iowait irq softirq steal
    except (OSError, ValueError, IndexError):
        return None
    return float(sum(ticks) - ticks[3] - ticks[4]), float(sum(ticks))


def busy_cores(seconds: float = 1.0) -> float | None:
    """Return how many cores work for others: by a look of some seconds, in which we rest.

    The average of a minute that systems keep is taken where there is nothing better: it still counts the
    benchmark before this one.
    """
    before = _spent()
    if before is None:
        try:
            return round(os.getloadavg()[0], 2)
        except (AttributeError, OSError):
            return None
    time.sleep(seconds)
    after = _spent() or before
    had = after[1] - before[1]
    return round((os.cpu_count() or 1) * (after[0] - before[0]) / had, 2) if had > 0 else None


def facts(root: Path) -> dict[str, Any]:
    """Return what a reader needs to judge the numbers; to be called before the work begins."""
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
        "busy_cores": busy_cores(),
    }


def warn_if_busy(machine: dict[str, Any]) -> None:
    """Say so where others are at work."""
    if (machine["busy_cores"] or 0.0) > 0.3:
        print(
            f"The machine is busy ({machine['busy_cores']:.1f} cores work for others): do not trust the "
            "times, least of all those of threaded BLAS."
        )


def provenance(command: str, machine: dict[str, Any], *, packages: bool = False) -> str:
    """Return the sentence that every table begins with."""
    versions = [f"{name} {version}" for name, version in machine["packages"].items() if version]
    told = [
        f"Measured by `{command}` on {machine['processor']}, {machine['cores']} cores",
        *([f"Python {machine['python']}", *versions] if packages else []),
    ]
    return (
        f"{', '.join(told)}; commit {machine['commit']}; cores at work for others before the run: "
        f"{machine.get('busy_cores', 'unknown')}."
    )
