"""The figures of the README, taken from bench/results: `python -m bench.figures --write` puts them in.

Nothing in that list is typed by hand: a sentence is written here, its numbers are read from the files that
the benchmarks wrote last. A test compares the README with what this module says.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results"
README = ROOT / "README.md"
BEGIN, END = "<!-- figures: `python -m bench.figures --write` -->", "<!-- end of the figures -->"

WHOLE = {"break_long_words": False, "break_on_hyphens": False}

Row = dict[str, str]


_read: set[str] = set()  # the tables that the sentences were made from
_PAGES = {"tabular/results_1000": "tabular/report_1000"}  # of tables whose page has another name


def rows(table: str, /, **where: object) -> list[Row]:
    """Return the rows of a table of results whose columns have the values that are asked for."""
    _read.add(table)
    with (RESULTS / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if all(row[k] == str(v) for k, v in where.items())]
    if not found:
        raise LookupError(f"{table}.csv has no row with {where}")
    return found


def value(table: str, column: str, /, **where: object) -> float:
    """Return one number of a table, from the only row that the conditions leave."""
    found = rows(table, **where)
    if len(found) != 1:
        raise LookupError(f"{table}.csv has {len(found)} rows with {where}")
    return float(found[0][column])


def age(page: str) -> str:
    """Return how many rows of a page are older than it, and what came of cells that were computed again."""
    path = RESULTS / f"{page}.json"
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    told = ""
    if kept := content.get("kept"):
        told += f", {kept['rows']} of its {len(rows(page))} rows at `{kept['commit']}` or before"
    if found := content.get("verified"):
        same = found["cells"] - found["differing"]
        told += f" ({same} of {found['cells']} cells that were drawn and computed again at "
        told += f"`{found['commit']}` are the same)"
    return told


def words() -> str:
    runs = defaultdict(list)
    for row in rows("paper/grls_2"):
        if row["accuracy"]:
            runs[row["dataset"], row["size"], row["method"]].append(float(row["accuracy"]))
    cells = sorted({key[:2] for key in runs})
    peers = ("RLSC words", "RLSC pLSA", "SVM words", "SVM pLSA")
    wins = sum(
        mean(runs[(*cell, "G-RLSC")]) >= max(mean(runs[(*cell, peer)]) for peer in peers) for cell in cells
    )
    return (
        f"Ten topics that come free with the text, left unpenalised beside a linear kernel on words: "
        f"best of five at {wins} "
        f"of {len(cells)} sizes on {len({data for data, _ in cells})} collections "
        "([the picture above](bench/results/paper/grls_2.md), `python -m bench.paper grls_2`)."
    )


def tables() -> str:
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows("tabular/results_1000"):
        errors[row["data"]][row["method"]].append(float(row["error"]))
    means = {data: {m: mean(e) for m, e in of.items()} for data, of in errors.items()}
    methods = sorted(set.intersection(*(set(of) for of in means.values())))
    rank = mean(1 + sum(of[m] < of["grls"] for m in methods if m != "grls") for of in means.values())

    def no_worse(peer: str) -> str:
        shared = [of for of in means.values() if peer in of]
        return f"{sum(of['grls'] <= 1.01 * of[peer] for of in shared)} of {len(shared)}"

    return (
        f"[Tables of numbers](bench/results/tabular/report_1000.md) (`python -m bench.compare.tabular`), "
        f"{len(means)} sets, at "
        f"most 1,000 rows: `GRLSRegressor()` has mean rank {rank:.1f} of {len(methods)} methods; no "
        f"worse (1 %) than KernelRidge "
        f"with a grid on {no_worse('KernelRidge, grid')}, HistGradientBoosting "
        f"{no_worse('HistGradientBoosting')}, "
        f"lightgbm {no_worse('lightgbm')}, xgboost {no_worse('xgboost')}."
    )


def digits() -> str:
    def accuracy(method: str) -> str:
        return f"{100 * value('paper/figure_4_3', 'accuracy', method=method):.2f}"

    best = accuracy("polynomial SVM, …, support vectors shifted and distorted")
    few, lifted = (
        accuracy("G-RLSC, straightened, few labels"),
        accuracy("G-RLSC, …, geodesic neighbours free"),
    )
    return (
        f"[The papers' experiments](bench/paper/RESULTS.md) (`python -m bench.paper all`): MNIST {best} "
        f"% by virtual support "
        f"vectors; with 1,000 labels, free neighbours lift G-RLSC from {few} to {lifted} %."
    )


def gamma() -> str:
    loo = value("selection", "to_fit", name='"loo"')
    reml = value("selection", "to_fit", name='"reml"')
    grid = value("selection", "to_loo", name="GridSearchCV(KernelRidge), 5 folds")
    return (
        f"[Choosing γ](bench/results/selection.md) (`python -m bench.selection`): 50 values at m = 5000 "
        f"cost {loo:.0f} fits by "
        f"exact leave-one-out, {reml:.0f} by restricted likelihood; GridSearchCV with KernelRidge takes "
        f"{grid:.0f} times as "
        "long as the former."
    )


def machines() -> str:
    def ratios(name: str) -> str:
        found = [float(row["fit_to_ours"]) for row in rows("svm", scene="classes", name=name)]
        return f"{min(found):.1f} to {max(found):.1f}"

    ours, theirs = (value("svm_digits", "fit", name=name) for name in ("grls", "scikit-learn-intelex"))
    return (
        f"[Support vector machines](bench/results/svm.md) (`python -m bench.svm`), 5,000 to 20,000 "
        f"rows: fits "
        f"{ratios('scikit-learn-intelex')} times faster than scikit-learn-intelex, "
        f"{ratios('scikit-learn')} than scikit-learn; "
        f"[all of MNIST](bench/results/svm_digits.md) (`python -m bench.svm --sizes "
        f"--digits 60000 --without scikit-learn`) in "
        f"{ours:.0f} s against "
        f"scikit-learn-intelex's {theirs:.0f} s."
    )


def many_rows() -> str:
    million = rows("nystrom/rows", name="n=1000000")[0]
    mnist = {row["name"]: row for row in rows("nystrom/mnist")}
    return (
        f"Past memory (`python -m bench.nystrom`): [10⁶ rows](bench/results/nystrom/rows.md) of 20 "
        f"columns on 1000 centres in "
        f"{float(million['seconds']):.0f} s and {million['mib']} MiB beside the data; "
        f"[MNIST](bench/results/nystrom/mnist.md) on 1000 centres "
        f"{float(mnist['grls single']['ratio']):.1f} times faster than "
        f"scikit-learn's Nystroem + RidgeClassifier in single precision, "
        f"{float(mnist['grls']['ratio']):.1f} in double "
        f"({mnist['grls']['error']} against {mnist['Nystroem + RidgeClassifier']['error']} % errors)."
    )


def limit() -> str:
    found = {
        (row["name"], row["m"]): float(row["to_limit"])
        for row in rows("peers", scene="digits", stage="fit")
        if row["to_limit"]
    }
    pairs = [(found["grls", m], found["grls mixed", m], found["KernelRidge", m]) for m in ("5000", "10000")]
    return (
        f"[A fit against the limit of the hardware](bench/results/peers.md) (`python -m bench.peers`; "
        f"syrk, exp and potrf): "
        f"{pairs[0][0]:.2f} and {pairs[1][0]:.2f} of it at m = 5000 and 10,000, in mixed precision "
        f"{pairs[0][1]:.2f} and "
        f"{pairs[1][1]:.2f}; KernelRidge {pairs[0][2]:.1f} and {pairs[1][2]:.1f}."
    )


def components() -> str:
    ratio = value("kpca", "to_ours", solver="arpack", m=5000, n_components=10)
    return (
        f"[Kernel PCA](bench/results/kpca.md) (`python -m bench.kpca`): ten components of 5000 rows "
        f"{ratio:.1f} times faster "
        "than arpack."
    )


BULLETS: list[Callable[[], str]] = [words, tables, digits, gamma, machines, many_rows, limit, components]


def commits(tables: set[str]) -> dict[str, list[str]]:
    """Return which commits tables were measured at, and the pages that say so."""
    found: dict[str, list[str]] = defaultdict(list)
    for table in sorted(tables):
        page = _PAGES.get(table, table)
        told = re.search(r"; commit (\S+?);", (RESULTS / f"{page}.md").read_text(encoding="utf-8"))
        found[told[1] if told else "unknown"].append(page)
    return found


def origin() -> str:
    """Return a sentence on the commits that the list was measured at; the most frequent first."""
    (commit, pages), *others = sorted(commits(_read).items(), key=lambda item: -len(item[1]))
    told = "".join(f"; {page}, {age(page)[2:]}" for page in pages if age(page))
    told += "".join(f"; {page} at `{other}`{age(page)}" for other, pages in others for page in pages)
    since = "`python -m bench list` says what of the library has changed since."
    return f"Measured at commit `{commit}`{told}. {since}"


def block() -> str:
    """Return the list as it stands in the README, between its marks."""
    _read.clear()
    bullets = [textwrap.fill(f"- {bullet()}", 118, subsequent_indent="  ", **WHOLE) for bullet in BULLETS]
    return "\n".join([BEGIN, "", *bullets, "", textwrap.fill(origin(), 118, **WHOLE), "", END])


def written(text: str) -> str:
    """Return a README with the list of now in place of its own."""
    head, rest = text.split(BEGIN)
    return head + block() + rest.split(END)[1]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.figures", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="put the list into README.md instead of printing it"
    )
    if parser.parse_args(arguments).write:
        README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(block())


if __name__ == "__main__":
    main()
