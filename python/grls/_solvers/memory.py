"""Refuses work that cannot fit into memory before it starts."""

from __future__ import annotations

import os
from pathlib import Path


def _read_number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def _control_group_free() -> int | None:
    """Memory left to this control group (a container's limit), if one is set."""
    for limit_path, usage_path in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        limit, usage = _read_number(limit_path), _read_number(usage_path)
        if limit is not None and usage is not None:
            return max(limit - usage, 0)
    return None


def _system_free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:  # not on every platform, and the whole memory rather than what is free
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def available() -> int | None:
    """Return the bytes of memory that can still be used, or None where the platform does not tell."""
    known = [free for free in (_system_free(), _control_group_free()) if free is not None]
    return min(known, default=None)


def _gib(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"


def fits(size: float) -> bool:
    """Whether `size` bytes are left; True where the platform does not tell."""
    free = available()
    return free is None or size <= free


def require(size: float, what: str, way_out: str) -> None:
    """Raise MemoryError when `size` bytes are more than there are."""
    if not fits(size):
        free = available() or 0
        raise MemoryError(f"{what} needs {_gib(size)}, but only {_gib(free)} of memory are free; {way_out}")
