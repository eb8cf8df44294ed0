"""The command: draw faults, try each, keep what came out."""

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from tests.mutants.equivalent import reason
from tests.mutants.places import Place, in_cpp, in_python, is_python
from tests.mutants.tests_of import nearest, tests_of
from tests.mutants.trial import ROOT, TIME_OVER, CppTrial, PythonTrial, who_noticed


def drawn(count, seed, cpp, only):
    """Faults at random: a file first, then a place in it, so that long files do not crowd out the others."""
    folder, pattern, places_in = ("cpp", "*.cpp", in_cpp) if cpp else ("python/grls", "*.py", in_python)
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern))
    files = [file for file in files if tests_of(file) and only in file]
    weights, places = [], []
    for file in files:
        found = places_in(file, (ROOT / file).read_text(encoding="utf-8"))
        places.append(found)
        weights.append(len(found) ** 0.5)
    if not any(weights):
        sys.exit(f"no place for a fault in files whose path contains {only!r}")
    draw, chosen = random.Random(seed), {}
    while len(chosen) < min(count, sum(map(len, places))):
        place = draw.choice(draw.choices(places, weights)[0])
        if cpp or is_python(place.applied_to((ROOT / place.file).read_text(encoding="utf-8"))):
            chosen[place.file, place.start] = place
    return list(chosen.values())


def tried(trial, place, files, seconds, log):
    """What became of one fault: a record of a line."""
    start, who = time.monotonic(), ""
    line = place.marked_in((ROOT / place.file).read_text(encoding="utf-8"))
    if reason(place.file, line, place.new):
        return asdict(place) | {"text": line, "verdict": "survived", "by": "not tried", "seconds": 0.0}
    names = nearest(place.file, files)
    if not trial.prepare(place):
        verdict = "does not compile"
    elif who := trial.noticed(place):
        verdict = "killed"
    else:
        code = trial.copy.tests(names, seconds, log)
        verdict = {0: "survived", 1: "killed", 2: "survived", -1: "killed"}[code]
        who = who_noticed(log) if code == 1 else {0: "", 2: TIME_OVER, -1: "no end"}[code]
    trial.restore(place)
    if not trial.passes(who, names, seconds, log):
        verdict = "unclear"  # what fails without the fault too says nothing
    record = asdict(place) | {"text": line, "verdict": verdict, "by": who}
    return record | {"seconds": round(time.monotonic() - start, 1)}


def _key(record):
    return record["file"], record["start"], record["new"]


def report(file):
    """Print the survivors, with the reason where one is known to compute the same, and the share killed."""
    records = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    records = [record for record in records if record["verdict"] in ("killed", "survived")]
    killed = equivalent = 0
    for record in records:
        why = reason(*(record[name] for name in ("file", "text", "new")))
        killed += record["verdict"] == "killed"
        equivalent += record["verdict"] == "survived" and why is not None
        if record["verdict"] == "survived":
            print(f"{record['file']}:{record['line']}  -> {record['new'] or 'nothing'}   {record['text']}")
            print(f"    {'computes the same: ' + why if why else 'SURVIVED'}")
    share = (killed + equivalent) / len(records) if records else float("nan")
    print(f"{len(records)} faults: {killed} killed, {equivalent} compute the same, "
          f"{len(records) - killed - equivalent} survived ({100 * share:.0f} % accounted for)")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="faults to draw")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpp", action="store_true", help="faults in C++ (compiles each)")
    parser.add_argument("--only", default="", help="files whose path contains this")
    parser.add_argument("--files", type=int, default=8, help="test files to try a fault against, at most")
    parser.add_argument(
        "--seconds", type=float, default=150.0, help="of the processor: after these no test is begun"
    )
    parser.add_argument(
        "--out", default="mutants.jsonl", help="results, one a line; those there are not tried again"
    )
    parser.add_argument("--report", metavar="FILE", help="print what a file of results says, and stop")
    parser.add_argument("--again", action="store_true", help="try the survivors of --out again")
    parser.add_argument("--build", help="folder of compiled C++ to keep, for other runs too")
    options = parser.parse_args()
    if options.report:
        return report(options.report)
    out = Path(options.out)
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    known = {_key(record): record for record in map(json.loads, lines)}
    if options.again:
        places = [
            Place(**{name: record[name] for name in Place.__dataclass_fields__})
            for record in known.values()
            if record["verdict"] in ("survived", "unclear")
            and record["file"].startswith("cpp" if options.cpp else "python")
        ]
    else:
        places = drawn(options.count, options.seed, options.cpp, options.only)
        places = [place for place in places if _key(asdict(place)) not in known]
    with tempfile.TemporaryDirectory(prefix="grls-mutants-") as folder:
        trial = CppTrial(folder, options.build) if options.cpp else PythonTrial(folder)
        for number, place in enumerate(places, 1):
            record = tried(trial, place, options.files, options.seconds, Path(folder) / "log.txt")
            known[_key(record)] = record
            text = "".join(json.dumps(each) + "\n" for each in known.values())
            out.write_text(text, encoding="utf-8")
            print(f"{number}/{len(places)} {record['verdict']:9} {place.file}:{place.line} "
                  f"{place.old} -> {place.new or 'nothing'}  {record['by']}", flush=True)  # fmt: skip
    return report(out)


if __name__ == "__main__":
    main()
