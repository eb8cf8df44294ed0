"""Peak memory of one fit, above the data, in a process of its own.

``python -m bench.peers.memory digits 2000 784 10 grls`` prints the bytes, and their ratio to an m×m matrix.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from threadpoolctl import threadpool_limits

from .adapters import PEERS, load
from .problems import Problem, digits_like, spatial

ROOT = Path(__file__).resolve().parents[2]
STATUS = Path("/proc/self/status")


def _status(field: str) -> int:
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(f"{STATUS} has no {field}")


def _peak() -> int:
    """Return the peak so far. VmHWM is this program's own; ru_maxrss may be inherited from the parent."""
    if STATUS.exists():
        return _status("VmHWM")
    import resource  # not on Windows

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _forget_peak() -> int:
    """Set the peak back to what is in use now, where the system can; return the level to start from."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return _peak()
    return _status("VmRSS")


def build(scene: str, m: int, d: int, n_features: int) -> Problem:
    return spatial(m, n_new=1) if scene == "spatial" else digits_like(m, d, n_features, n_new=1)


def measure(scene: str, m: int, d: int, n_features: int, name: str) -> int:
    """Return the bytes that fitting takes at its peak, above the data."""
    peer = next(p for p in PEERS if p.name == name)
    peer.fit(build(scene, 200, d, n_features))  # libraries and thread pools are loaded
    problem = build(scene, m, d, n_features)
    before = _forget_peak()
    model = peer.fit(problem)
    after = _peak()
    del model
    return after - before


def in_subprocess(scene: str, m: int, d: int, n_features: int, name: str, threads: int) -> int:
    """Return what `measure` says in a fresh process."""
    command = [sys.executable, "-m", "bench.peers.memory", scene, str(m), str(d), str(n_features), name]
    command += ["--threads", str(threads)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return int(json.loads(done.stdout)["bytes"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.memory", description=__doc__)
    parser.add_argument("scene", choices=["digits", "spatial"])
    for number in ("m", "d", "n_features"):
        parser.add_argument(number, type=int)
    parser.add_argument("name", choices=[p.name for p in PEERS])
    parser.add_argument("--threads", type=int, default=None)
    a = parser.parse_args()
    load()
    with threadpool_limits(a.threads):
        size = measure(a.scene, a.m, a.d, a.n_features, a.name)
    print(json.dumps({"bytes": size, "matrices": size / (8 * a.m**2)}))


if __name__ == "__main__":
    main()
