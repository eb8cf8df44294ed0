"""Every figure from one commit: ``python -m bench all`` runs all benchmarks, ``list`` says how old each is.

Hours, with GRLS_DATA set. Before each benchmark it waits until the machine is quiet, and keeps how many cores
worked for others. A benchmark whose results come from the sources as they are is not run again, so the same
command goes on where it stopped; one that was interrupted goes on too, where it keeps parts.
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

from .peers.machine import MEASURED, busy_cores

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
LOG = RESULTS / "runs.json"


@dataclass(frozen=True)
class Step:
    """One benchmark: what follows `python -m`, and the pages of bench/results that it writes."""

    name: str
    command: str
    pages: tuple[str, ...]
    timed: bool = True
    afresh: str = ""  # an option that forgets what other sources have left behind


NYSTROM = (
    *("mnist", "svc", "rows", "exact", "centres", "choice", "dask", "regression", "doubling"),
    "draws",
)
# Many hours: of their cells some are drawn and computed again, and a difference fails.
VERIFIED = {"grls_2": 60, "svmgb_3": 30}
PAPERS = (
    *("figure_1_1", "figure_1_2", "figure_1_3", "figure_3_1", "figure_3_2", "figure_3_3"),
    *("figure_4_1", "figure_4_2", "figure_4_3_choice", "figure_4_3_features", "figure_4_3", "figure_4_5"),
    *("figure_b_1", "figure_b_4", "grls_1", "grls_2", "grls_2_training", "prior_transfer"),
    *("svmgb_1", "svmgb_2", "svmgb_3", "svmgb_bias"),
)
STEPS = (
    Step("peers", "bench.peers", ("peers",)),
    Step("variances", "bench.peers.variances", ("variances",)),
    Step("selection", "bench.selection", ("selection",)),
    Step("kpca", "bench.kpca", ("kpca",)),
    Step("choice", "bench.choice", ("choice",)),
    Step("svm", "bench.svm", ("svm",)),
    Step("svm digits", "bench.svm --sizes --digits 60000 --without scikit-learn", ("svm_digits",)),
    Step("svm regression", "bench.svm.regression", ("svm_regression",)),
    Step("svm features", "bench.svm.features", ("svm_features",)),
    Step("svm speed", "bench.svm.speed", ("svm_speed",)),
    *(Step(f"nystrom {name}", f"bench.nystrom --scenes {name}", (f"nystrom/{name}",)) for name in NYSTROM),
    Step("fourier rows", "bench.fourier rows", ("fourier/rows",)),
    Step("fourier exact", "bench.fourier exact", ("fourier/exact",)),
    Step("conformal", "bench.conformal", ("conformal",)),
    Step("conformal peer", "bench.conformal.peer", ("conformal_peer",)),
    Step("prior", "bench.prior.sparse", ("prior_sparse",)),
    Step("real", "bench.real", ("real", "freedom")),
    Step("tabular", "bench.compare.tabular", ("tabular/report_1000",), afresh="--afresh"),
    Step("transfer", "bench.prior.transfer", ("transfer",), timed=False),
    Step("coverage", "bench.compare.coverage", ("coverage",), timed=False),
    Step("scales", "bench.compare.scales", ("scales",), timed=False),
    Step("coverage at scale", "bench.compare.coverage_at_scale", ("coverage_at_scale",), timed=False),
    Step("losses", "bench.compare.losses", ("losses",), timed=False),
    Step("counts", "bench.compare.counts", ("counts",), timed=False),
    Step("r figures", "bench.compare.r_figures", ("r_figures",), timed=False),
    *(
        Step(f"paper {name}", f"bench.paper {name}", (f"paper/{name}",), timed=False, afresh="--force")
        for name in PAPERS
        if name not in VERIFIED
    ),
    *(
        Step(f"paper {name}", f"bench.paper {name} --verify {cells}", (f"paper/{name}",), timed=False)
        for name, cells in VERIFIED.items()
    ),
    *(
        Step(f"fourier peers {m}", f"bench.fourier peers --sizes {m} --limit 240", (f"fourier/peers_{m}",))
        for m in (10_000, 100_000)
    ),
    Step(
        "tabular slow",
        "bench.compare.tabular --seeds 1 --slow --cpu --out bench/results/tabular/one_split",
        ("tabular/one_split/report_1000",),
        timed=False,  # by the clock of the processor
        afresh="--afresh",
    ),
)


def sources_now() -> str:
    """Return the state of the sources: the hash of git's trees, marked where files differ from it."""
    trees = subprocess.run(
        ["git", "rev-parse", *(f"HEAD:{name}" for name in MEASURED)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", *MEASURED], cwd=ROOT, check=False
    ).returncode
    return "-".join(tree[:10] for tree in trees) + ("-dirty" if changed else "")


def wait_until_quiet(most: float, patience: float, pause: float = 10.0) -> float | None:
    """Wait until fewer than `most` cores work for others; return how many do then."""
    start = time.monotonic()
    while ((busy := busy_cores()) or 0.0) > most and time.monotonic() - start < patience:
        print(f"  {busy:.2f} cores work for others: waiting", flush=True)
        time.sleep(pause)
    return busy


Log = dict[str, dict[str, object]]


def runs() -> Log:
    """Return what is known of all steps."""
    return json.loads(LOG.read_text(encoding="utf-8")) if LOG.exists() else {}


def note(step: Step, **facts: object) -> None:
    """Keep what is known of a step, beside what other runs of this command have noted meanwhile."""
    together = json.dumps(runs() | {step.name: facts}, indent=1)
    unfinished = LOG.with_name(f"{LOG.name}.{os.getpid()}")
    unfinished.write_text(together + "\n", encoding="utf-8")
    unfinished.replace(LOG)


def unwritten(step: Step, since: float) -> list[str]:
    """Return the pages that a step should have written since then, and has not."""
    paths = [RESULTS / f"{page}.md" for page in step.pages]
    return [path.name for path in paths if not path.exists() or path.stat().st_mtime < since]


def run(step: Step, sources: str, a: argparse.Namespace) -> bool:
    """Run one benchmark and keep when, how long and beside what other work; whether it succeeded."""
    goes_on = runs().get(step.name, {}).get("begun") == sources
    command = [*step.command.split(), *([] if goes_on or not step.afresh else [step.afresh])]
    print(f"== {step.name}: python -m {' '.join(command)}", flush=True)
    busy = wait_until_quiet(a.busy if step.timed else float("inf"), a.patience)
    if not goes_on:
        note(step, begun=sources)
    start = time.time()
    code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
    if code:
        print(f"  ended with status {code}: it is not done", flush=True)
        return False
    if missing := unwritten(step, int(start)):
        print(f"  ended without {', '.join(missing)}: it is not done", flush=True)
        return False
    note(
        step,
        sources=sources,
        date=time.strftime("%Y-%m-%d", time.gmtime(start)),
        minutes=round((time.time() - start) / 60, 1),
        busy_cores=busy,
    )
    return True


def changed(before: str, after: str) -> list[str]:
    """Return the files that differ between two states of the sources."""
    files: list[str] = []
    for name, *trees in zip(MEASURED, before.split("-"), after.split("-"), strict=False):
        if trees[0] != trees[1]:
            found = subprocess.run(
                ["git", "diff", "--name-only", *trees], cwd=ROOT, check=False, capture_output=True, text=True
            )
            files += [f"{name}/{file}" for file in found.stdout.split()] or [name]
    return files


def told(step: Step, log: Log, sources: str) -> str:
    """Return the line of a step in the list."""
    known = log.get(step.name, {})
    if "sources" not in known:
        return f"{step.name:25} {'begun, and not done' if known else 'never by this command'}"
    state = "up to date" if known["sources"] == sources else "older than the sources"
    return f"{step.name:25} {state}; {known['date']}, {known['minutes']} minutes, {known['busy_cores']} busy"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("what", choices=["all", "list"])
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="steps by name")
    parser.add_argument(
        "--force", action="store_true", help="run again what comes from these sources already"
    )
    parser.add_argument(
        "--busy", type=float, default=0.2, metavar="CORES", help="wait until fewer cores work for others"
    )
    parser.add_argument(
        "--patience", type=float, default=3600.0, metavar="S", help="wait no longer than this"
    )
    a = parser.parse_args(arguments)
    if unknown := set(a.only) - {step.name for step in STEPS}:
        parser.error(
            f"no step is called {', '.join(sorted(unknown))}; there are: {', '.join(s.name for s in STEPS)}"
        )
    log = runs()
    sources = sources_now()
    failed = []
    for step in STEPS:
        if a.what == "list":
            print(told(step, log, sources))
            continue
        current = log.get(step.name, {}).get("sources") == sources
        wanted = (not a.only or step.name in a.only) and (a.force or not current)
        if wanted and not run(step, sources, a):
            failed.append(step.name)
    if a.what == "list":
        older = {str(known["sources"]) for known in log.values() if known.get("sources", sources) != sources}
        for before in sorted(older):
            print(f"since {before} these have changed: {', '.join(changed(before, sources)) or 'unknown'}")
    if failed:
        print(f"failed: {', '.join(failed)}; the same command tries these again")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
