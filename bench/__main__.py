"""Every figure from one commit: ``python -m bench all`` runs all benchmarks, ``list`` says how old each is.

Hours, with GRLS_DATA set. Before each benchmark it waits until the machine is quiet, and keeps the load it
found. A benchmark whose results come from the sources as they are is not run again, so the same command goes
on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "bench" / "results" / "runs.json"
SOURCES = ("python/grls", "cpp", "CMakeLists.txt")


@dataclass(frozen=True)
class Step:
    """One benchmark: its name, what follows `python -m`, and whether it measures time."""

    name: str
    command: str
    timed: bool = True


STEPS = (
    Step("peers", "bench.peers"),
    Step("variances", "bench.peers.variances"),
    Step("selection", "bench.selection"),
    Step("kpca", "bench.kpca"),
    Step("svm", "bench.svm"),
    Step("svm digits", "bench.svm --sizes --digits 60000"),
    Step("svm regression", "bench.svm.regression"),
    Step("svm features", "bench.svm.features"),
    Step("svm speed", "bench.svm.speed"),
    Step("nystrom", "bench.nystrom"),
    Step("fourier", "bench.fourier"),
    Step("conformal", "bench.conformal"),
    Step("prior", "bench.prior.sparse"),
    Step("real", "bench.real"),
    Step("tabular", "bench.compare.tabular --again grls"),
    Step("transfer", "bench.prior.transfer", timed=False),
    Step("coverage", "bench.compare.coverage", timed=False),
    Step("losses", "bench.compare.losses", timed=False),
    Step("counts", "bench.compare.counts", timed=False),
    Step("r figures", "bench.compare.r_figures", timed=False),
    Step("freedom", "bench.real --scenes freedom", timed=False),
    Step("papers", "bench.paper all --force", timed=False),
)


def sources_now() -> str:
    """Return the state of the sources: the hash of git's trees, marked where files differ from it."""
    trees = subprocess.run(
        ["git", "rev-parse", *(f"HEAD:{name}" for name in SOURCES)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", *SOURCES], cwd=ROOT, check=False
    ).returncode
    return "-".join(tree[:10] for tree in trees) + ("-dirty" if changed else "")


def wait_until_quiet(load: float, patience: float, pause: float = 15.0) -> float:
    """Wait until fewer processes than `load` want a core; return what the average of a minute was then."""
    start = time.monotonic()
    while (now := os.getloadavg()[0]) > load and time.monotonic() - start < patience:
        print(f"  load {now:.2f} above {load}: waiting", flush=True)
        time.sleep(pause)
    return now


def run(step: Step, log: dict[str, dict[str, object]], sources: str, a: argparse.Namespace) -> bool:
    """Run one benchmark and keep when, how long and beside what load; whether it succeeded."""
    print(f"== {step.name}: python -m {step.command}", flush=True)
    load = wait_until_quiet(a.load if step.timed else float("inf"), a.patience)
    start = time.time()
    code = subprocess.run([sys.executable, "-m", *step.command.split()], cwd=ROOT, check=False).returncode
    if code == 0:
        log[step.name] = {
            "sources": sources,
            "date": time.strftime("%Y-%m-%d", time.gmtime(start)),
            "minutes": round((time.time() - start) / 60, 1),
            "load": round(load, 2),
        }
        LOG.write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")
    else:
        print(f"  ended with status {code}: nothing is noted", flush=True)
    return code == 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", choices=["all", "list"])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="steps by name")
    parser.add_argument(
        "--force", action="store_true", help="run again what comes from these sources already"
    )
    parser.add_argument(
        "--load", type=float, default=0.5, help="wait for an average of fewer waiting processes"
    )
    parser.add_argument(
        "--patience", type=float, default=3600.0, metavar="S", help="wait no longer than this"
    )
    a = parser.parse_args(arguments)
    if unknown := set(a.only) - {step.name for step in STEPS}:
        parser.error(
            f"no step is called {', '.join(sorted(unknown))}; there are: {', '.join(s.name for s in STEPS)}"
        )
    log = json.loads(LOG.read_text(encoding="utf-8")) if LOG.exists() else {}
    sources = sources_now()
    failed = []
    for step in STEPS:
        known = log.get(step.name, {})
        current = known.get("sources") == sources
        if a.what == "list":
            when = (
                f"{known['date']}, {known['minutes']} minutes, load {known['load']}"
                if known
                else "never by this command"
            )
            print(f"{step.name:15} {'up to date' if current else 'older than the sources'}; {when}")
            continue
        wanted = (not a.only or step.name in a.only) and (a.force or not current)
        if wanted and not run(step, log, sources, a):
            failed.append(step.name)
    if failed:
        print(f"failed: {', '.join(failed)}; the same command tries these again")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
