"""What work takes of memory, and the refusal of what cannot fit before it starts."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace

from .. import _core
from .runtime import get_num_threads


def _read(path: str) -> bytes:
    """Return the first page of a file of the system, which is all of it: every fit asks."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def _read_number(path: str) -> int | None:
    try:
        return int(_read(path))
    except (OSError, ValueError):  # no such file, or "max"
        return None


@dataclass(frozen=True)
class _Hierarchy:
    """Where a version of control groups keeps what it knows of memory."""

    folder: str  # under the root of all control groups
    limit: str
    usage: str
    reclaimable: bytes  # its name in memory.stat: pages of files, which the system gives back when asked


_UNIFIED = _Hierarchy("", "memory.max", "memory.current", b"\ninactive_file ")
_HYBRID = replace(_UNIFIED, folder="unified")
_LEGACY = _Hierarchy("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", b"\ntotal_inactive_file ")


def _control_group_free(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> int | None:
    """Memory left to this process by the limits of its control group and of those above it, if one is set.

    A container sees its own group at the root; a job of SLURM or a slice of systemd is somewhere below.
    """
    try:
        lines = _read(membership).decode(errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    groups = [line.split(":", 2) for line in lines if line.count(":") >= 2]
    unified = next((path for number, _, path in groups if number == "0"), "/")
    legacy = next((path for _, kinds, path in groups if "memory" in kinds.split(",")), "/")
    known = []
    for hierarchy, path in ((_UNIFIED, unified), (_HYBRID, unified), (_LEGACY, legacy)):
        above = os.path.join(root, hierarchy.folder)
        steps = [step for step in path.split("/") if step not in ("", "..")]
        for depth in range(len(steps) + 1):
            free = _free_in(os.path.join(above, *steps[:depth]), hierarchy)
            if free is not None:
                known.append(free)
    return min(known, default=None)


def _free_in(group: str, hierarchy: _Hierarchy) -> int | None:
    """Memory left to one control group, if it has a limit."""
    limit = _read_number(os.path.join(group, hierarchy.limit))
    usage = None if limit is None else _read_number(os.path.join(group, hierarchy.usage))
    if limit is None or usage is None:
        return None
    try:
        _, found, rest = (b"\n" + _read(os.path.join(group, "memory.stat"))).partition(hierarchy.reclaimable)
        usage -= int(rest.split(maxsplit=1)[0]) if found else 0
    except (OSError, ValueError, IndexError):
        pass
    return max(limit - usage, 0)


def _system_free() -> int | None:
    try:
        _, found, rest = _read("/proc/meminfo").partition(b"MemAvailable:")
        if found:
            return int(rest.split(maxsplit=1)[0]) * 1024
    except OSError:
        pass
    try:  # not on every platform, and the whole memory rather than what is free
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


# A small fit asks several times, and takes less time than the answers: one is good for so many seconds, in
# which no more than some 100 MB can be filled.
_GOOD_FOR = 0.02
_answer: tuple[float, int | None] = (-1.0, None)  # when it was read, and what


def available() -> int | None:
    """Return the bytes of memory that can still be used, or None where the platform does not tell."""
    global _answer
    read, free = _answer
    now = time.monotonic()
    if not 0 <= now - read < _GOOD_FOR:
        known = [free for free in (_system_free(), _control_group_free()) if free is not None]
        free = min(known, default=None)
        _answer = (now, free)
    return free


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


_MANY_COLUMNS = 10**8


def require_room_for_columns(n_columns: int, numbers: int = 1) -> None:
    """Raise MemoryError where X has more columns than there is memory for so many numbers of each."""
    told = "one number" if numbers == 1 else f"{numbers} numbers"
    if n_columns > _MANY_COLUMNS // numbers:
        require(
            8.0 * numbers * n_columns,
            f"{told} for each of the {n_columns} columns of X",
            "leave out the columns that are empty, or hash them to fewer",
        )


# Bytes of each kind of work. The formulas are the core's, beside the code that takes the memory.


def solve_bytes(order: int, precision: str) -> float:
    """Return what a factorisation takes, its border included; "auto" may be "mixed"."""
    return float(_core.solve_bytes(order=order, precision=precision))


def path_bytes(
    n_samples: int, n_outputs: int, n_shifts: int, *, leave_one_out: bool, n_free: int = 0
) -> float:
    """Return what a path takes."""
    return float(
        _core.path_bytes(
            m=n_samples,
            n_outputs=n_outputs,
            n_shifts=n_shifts,
            leave_one_out=leave_one_out,
            n_features=n_free,
        )
    )


def leave_out_bytes(n_samples: int, largest: int) -> float:
    """Return what groups take that are left out of a reduced matrix, the largest of so many rows."""
    return float(_core.leave_out_bytes(order=n_samples, largest=largest, workers=get_num_threads()))


def gradient_bytes(n_samples: int, criterion: str, n_columns: int, n_left_out: int = 0) -> float:
    """Return what a gradient takes, by widths of so many columns too; `n_left_out`: groups times outputs."""
    return float(
        _core.gradient_bytes(m=n_samples, criterion=criterion, n_columns=n_columns, n_left_out=n_left_out)
    )


def posterior_bytes(n_samples: int, n_free: int) -> float:
    """Return what a factor that is kept takes."""
    return float(_core.posterior_bytes(m=n_samples, n_features=n_free))


def covariance_bytes(n_samples: int, n_points: int) -> float:
    """Return what the covariance of so many points takes, beside the factor."""
    return float(_core.covariance_bytes(m=n_samples, n_points=n_points))


def ridge_columns_bytes(n_samples: int, n_columns: int, n_outputs: int) -> float:
    """Return what a factorisation of the order of the columns takes."""
    return float(_core.ridge_columns_bytes(n=n_samples, d=n_columns, n_outputs=n_outputs))


def ridge_path_bytes(n_samples: int, n_columns: int, n_outputs: int, n_shifts: int) -> float:
    """Return what a path of the order of the columns takes."""
    return float(_core.ridge_path_bytes(n=n_samples, d=n_columns, n_outputs=n_outputs, n_shifts=n_shifts))


def centres_bytes(n_centers: int) -> float:
    """Return what the kernel matrix of centres and its factors take."""
    return float(_core.centres_bytes(M=n_centers))


def svm_bytes(largest_pair: int, n_pairs: int, solver: str, cache_bytes: float) -> float:
    """Return what the pairs of classes that are solved at the same time take."""
    return float(
        _core.svm_bytes(
            largest_pair=largest_pair,
            n_pairs=n_pairs,
            solver=solver,
            cache_bytes=cache_bytes,
            threads=get_num_threads(),
        )
    )


def pairs_bytes(n_samples: int, n_pairs: int, n_classes: int) -> float:
    """Return what the results of all pairs of classes take, and the certificates that are made of them.

    Numbers for each sample and pair: coefficients of the core, of the model and of its support vectors, Φc on
    its way from the core, and Tβ. More for each of the n_classes − 1 pairs that a sample belongs to.
    """
    return 8.0 * n_samples * (7 * n_pairs + 16 * (n_classes - 1))


def osqp_bytes(n_samples: int) -> float:
    """Return what OSQP takes: it keeps the matrix sparse, with its indices, and its factor."""
    return 48.0 * n_samples**2


def affordable_precision(precision: str, n_samples: int, n_outputs: int, *, stored: bool) -> str:
    """Return a precision whose matrices fit into memory; MemoryError where there is none.

    stored: the kernel matrix comes as a whole, from a function.
    """
    order = n_samples + n_outputs
    whole = 8.0 * n_samples**2 if stored else 0.0
    if precision == "auto" and not fits(whole + solve_bytes(order, "mixed")):
        precision = "double"
    require(
        whole + solve_bytes(order, precision),
        f"a kernel model of {n_samples} samples in {precision} precision",
        'use solver="cg", which stores no matrix, NystromGRLSRegressor, or fewer samples'
        + ("" if precision == "single" else '; precision="single" takes half'),
    )
    return precision
