"""Fuzzers for hours: ``python tests/fuzz/run.py bindings --calls 1000000 --seed 0``.

Prints how many cases were run and every finding, shrunk, with the command that runs it again alone.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import bindings, certificates, extremes, models
from fuzz.forked import fails, run_forked, run_here

FUZZERS = {"bindings": bindings, "models": models, "extremes": extremes, "certificates": certificates}


def main():
    """Run one fuzzer; the exit status is 1 where something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fuzzer", choices=FUZZERS)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="the first; each case has the next one")
    parser.add_argument("--only", action="store_true", help="run the one case of the seed in this process")
    parser.add_argument("--here", action="store_true", help="in this process, as sanitizers want it")
    parser.add_argument("--batch", type=int, default=500, help="cases a child")
    options = parser.parse_args()
    fuzzer = FUZZERS[options.fuzzer]
    if options.only:
        print(fuzzer.describe(options.seed))
        print(fuzzer.run(options.seed))
        return 0
    seeds = range(options.seed, options.seed + options.calls)
    if options.here:
        report = run_here(fuzzer.run, seeds)
    else:

        def tell(report):
            if report.cases % 20_000 < options.batch:
                seeds = [finding.seed for finding in report.findings[-5:]]
                print(
                    report.cases,
                    "cases,",
                    len(report.findings),
                    "findings",
                    seeds,
                    file=sys.stderr,
                    flush=True,
                )

        report = run_forked(fuzzer.run, seeds, batch=options.batch, tell=tell)
    for finding in report.findings[:20]:
        print(f"\n== {finding.what}")
        print(f"python tests/fuzz/run.py {options.fuzzer} --only --seed {finding.seed}")
        print(fuzzer.describe(finding.seed) if options.here else fuzzer.shrink(finding.seed, fails))
    print(f"\n{options.fuzzer}: {report}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
