"""The page about the papers, bench/paper/RESULTS.md, tells the results as they came out."""

import re

import pytest
from repository import ROOT, needs

pytestmark = needs("bench")

WORDS, TOPICS = ("RLSC words", "SVM words"), ("RLSC pLSA", "SVM pLSA")
PRINTED, FIRST = "G-RLSC printed, QR pivots", "G-RLSC printed, first pivots"
AUTO, TFIDF, BOTH = "G-RLSC auto", "RLSC tf-idf", "G-RLSC auto tf-idf"


@pytest.fixture(scope="module")
def page():
    """Return the page on one line."""
    text = (ROOT / "bench" / "paper" / "RESULTS.md").read_text(encoding="utf-8")
    return " ".join(text.split())


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import bench.figures
    import bench.paper.experiments._accuracy

    return bench


class Text:
    """The cells of a table of accuracies over data sets and sizes."""

    def __init__(self, bench, name):
        self._of = bench.paper.experiments._accuracy
        self.rows = [
            row
            | {"size": int(row["size"]), "run": int(row["run"]), "accuracy": float(row["accuracy"] or "nan")}
            for row in bench.figures.rows(f"paper/{name}")
        ]
        self.cells = sorted({(row["dataset"], row["size"]) for row in self.rows})

    def mean(self, method, cell):
        return 100 * self._of.mean(self.rows, method=method, dataset=cell[0], size=cell[1])

    def gain(self, method, rival, cell):
        return self._of.gain(self.rows, method, rival, dataset=cell[0], size=cell[1])

    def gains(self, method, rival, cells=None):
        """Return the differences where both have one."""
        found = [self.gain(method, rival, cell)[0] for cell in cells or self.cells]
        return [points for points in found if points == points]

    def wins(self, method, rivals=WORDS + TOPICS):
        return [c for c in self.cells if all(self.mean(method, c) > self.mean(r, c) for r in rivals)]

    def failed(self, method):
        fits = [row["accuracy"] for row in self.rows if row["method"] == method]
        return f"{sum(a != a for a in fits)} of {len(fits)}"

    def excess(self, method):
        """Return the most by which an objective exceeds the least one."""
        done = [row for row in self.rows if row["method"] == method and row["objective"]]
        return max(float(row["objective"]) / float(row["least_objective"]) for row in done)


def average(numbers):
    return sum(numbers) / len(numbers)


def all_documents(g):
    """What the page says of `grls_2`."""
    web = [cell for cell in g.cells if cell[0] == "4-universities"]
    over_words = g.gains("G-RLSC", "RLSC words", web)
    below = -g.gain("SVM words", "G-RLSC", web[-2])[0]
    above, error = g.gain("SVM words", "G-RLSC", web[-1])
    pages = ("7-sectors", 400)
    rival = max(g.mean(method, pages) for method in WORDS + TOPICS)
    lost, lost_first = g.gains("G-RLSC", PRINTED), g.gains("G-RLSC", FIRST)
    auto = g.gains(AUTO, "G-RLSC")
    topics = {
        size: average(g.gains(BOTH, TFIDF, [c for c in g.cells if c[1] == size]))
        for size in (100, 1600, 3200)
    }
    assert round(topics[1600]) == round(topics[3200])
    return [
        f"best of five at {len(g.wins('G-RLSC'))} of {len(g.cells)} sizes",
        f"yes with pivots by QR ({len(g.wins(PRINTED))} of {len(g.cells)})",
        f"({len(g.wins(FIRST))} of {len(g.cells)}, and {g.failed(FIRST)} fits fail)",
        f"yes: {below:.1f} points below G-RLSC with 1,600 pages, {above:.1f} ± {error:.1f} above with 3,200",
        f"yes: by {min(over_words):.1f} to {max(over_words):.1f} points",
        f"at {len(g.wins('G-RLSC'))} of {len(g.cells)} sizes, by more",
        f"(7-sectors, 400 pages: {g.mean('G-RLSC', pages):.1f} % against {rival:.1f} % for the best rival)",
        f"it is {average(lost):.1f} points worse on average, up to {max(lost):.1f}, "
        f"worse in {sum(points > 0 for points in lost)} of {len(lost)} cells",
        f"its objective is up to {g.excess(PRINTED):.1f} times the least one",
        f"{g.failed(FIRST)} fits fail",
        f"the others are {average(lost_first):.1f} points worse on average and up to {max(lost_first):.1f}, "
        f"with up to {g.excess(FIRST):.0f} times the least objective",
        f"gains {max(auto):.1f} points there, and is never more than {-min(auto):.1f} points worse elsewhere",
        f"{topics[100]:.1f} points with 100 documents, about {topics[3200]:.0f} from 1,600 on",
    ]


def training_documents(t):
    """What the page says of `grls_2_training`."""
    best = {c: t.mean("G-RLSC", c) - max(t.mean(m, c) for m in WORDS + TOPICS) for c in t.cells}
    tie = best.pop(("sci", 100))
    lost, lost_first = average(t.gains("G-RLSC", PRINTED)), average(t.gains("G-RLSC", FIRST))
    tfidf = {size: t.gains(BOTH, TFIDF, [c for c in t.cells if c[1] == size]) for size in (100, 400)}
    assert len(t.wins("G-RLSC")) == len(t.cells)
    return [
        f"in all {len(t.cells)} cells, by {min(best.values()):.1f} to {max(best.values()):.1f} points; "
        f"on sci.* with 100 documents it is a tie ({tie:.1f})",
        f"is {lost:.1f} points worse on average with QR pivots",
        f"{t.failed(FIRST)} fits fail, and the others are {lost_first:.0f} points worse",
        f"{average(tfidf[100]):.1f} points on average with 100 documents and "
        f"{average(tfidf[400]):.1f} with 400, nearly all of it on 4-universities "
        f"(+{max(tfidf[100]):.1f} and +{max(tfidf[400]):.1f})",
        f"free ones cost comp.* {-t.gain('G-RLSC tf-idf', TFIDF, ('comp', 100))[0]:.0f} points with 100",
    ]


def generalised_bias(s, g):
    """What the page says of `svmgb_3`, with `grls_2` beside it."""
    over_words, cell, few = s.gains("SVM-GB", "SVM words"), ("comp", 800), ("rec", 100)
    many = [c for c in s.wins("SVM-GB", ("SVM words", "SVM pLSA")) if c[1] >= 800]
    assert min(over_words) > 0
    return [
        f"yes, in all {len(over_words)} and in all {len(many)} cells",
        f"(comp.* 800: {s.mean('SVM-GB', cell):.1f} % against {s.mean('SVM pLSA', cell):.1f} and "
        f"{s.mean('SVM words', cell):.1f} %)",
        f"everywhere, by {min(over_words):.0f} to {max(over_words):.0f} points",
        f"(rec.* 100: {g.mean('G-RLSC', few):.1f} against {s.mean('SVM-GB', few):.1f} %)",
    ]


def test_the_experiments_with_texts_are_told_as_they_came_out(bench, page):
    g, t, s = (Text(bench, name) for name in ("grls_2", "grls_2_training", "svmgb_3"))
    expected = all_documents(g) + training_documents(t) + generalised_bias(s, g)
    assert [phrase for phrase in expected if phrase not in page] == []


def objects(bench):
    """What the page says of `svmgb_1` and `svmgb_2`."""
    machines = ("kNN geodesic", "SVM-GB", "G-RLSC")

    def accuracy(size, method, graph=""):
        where = {"per_class": size, "method": method, "graph": graph}
        return 100 * bench.figures.value("paper/svmgb_1", "accuracy", **where)

    sizes = (6, 12, 24, 48)
    table = {(size, "SVM"): accuracy(size, "SVM") for size in sizes}
    table |= {(size, machine): accuracy(size, machine, 2) for size in sizes for machine in machines}
    added = {
        (size, machine): table[size, machine] - table[size, "kNN geodesic"]
        for size in sizes
        for machine in machines[1:]
    }
    late = [points for (size, _), points in added.items() if size >= 24]
    wide = [accuracy(6, machine, 10) for machine in machines]
    phrases = [
        " | ".join([f"| {size}", *(f"{table[size, method]:.1f}" for method in ("SVM", *machines))])
        for size in sizes
    ]
    phrases += [
        f"at most {-min(added.values()):.1f} points below",
        f"the kernel adds anything ({min(late):.1f} to {max(late):.1f} points)",
        f"6 images per class give {min(wide):.0f} to {max(wide):.0f} %",
    ]
    spread = {}
    for row in bench.figures.rows("paper/svmgb_2"):
        spread.setdefault(row["method"], []).append(100 * float(row["accuracy"]))
    ends = {method: (f"{min(found):.1f}", f"{max(found):.1f}") for method, found in spread.items()}
    assert ends["SVM-GB"][0] == ends["SVM-GB"][1]
    return [
        *phrases,
        f"SVM-GB stays at {ends['SVM-GB'][0]} % while the SVM goes from {' to '.join(ends['SVM'])} %; "
        f"G-RLSC {' to '.join(ends['G-RLSC'])} %, RLSC {' to '.join(ends['RLSC'])} %",
    ]


def bias(bench):
    """What the page says of `svmgb_bias`."""
    differences = {}
    for row in bench.figures.rows("paper/svmgb_bias"):
        points = 100 * (float(row["accuracy with b"]) - float(row["accuracy without b"]))
        differences.setdefault((row["dataset"], row["inputs"]), []).append(points)
    adds = {cell: average(points) for cell, points in differences.items()}
    gaussian = [points for (_, inputs), points in adds.items() if inputs == "Gaussian"]
    linear = [points for (_, inputs), points in adds.items() if inputs != "Gaussian"]
    iris, rare = (
        max(points for (name, _), points in adds.items() if part in name) for part in ("iris", "1 : 10")
    )
    return [
        f"(−{-min(gaussian):.1f} to +{max(gaussian):.1f} points, none clear)",
        f"(−{-min(linear):.1f} to +{max(linear):.0f} points, clear in",
        f"iris loses {iris:.0f} points without b",
        f"the set with classes 1 : 10 loses up to {rare:.0f}",
    ]


def transfer(bench):
    """What the page says of `prior_transfer`."""

    def adds(words, examples):
        found = bench.figures.rows("paper/prior_transfer", words=words)
        return average([100 * float(row[f"gain_{examples}"]) for row in found])

    costs = [-adds("tf-idf", examples) for examples in (10, 30, 100)]
    return [
        f"adds {adds('presence', 10):.1f} points with 10 examples and {adds('presence', 100):.1f} with 100",
        f"**with tf-idf it costs {min(costs):.1f} to {max(costs):.1f}**",
    ]


@pytest.mark.parametrize("told", [objects, bias, transfer])
def test_the_other_experiments_are_told_as_they_came_out(bench, page, told):
    assert [phrase for phrase in told(bench) if phrase not in page] == []


def digits_of(bench, name):
    """Return the accuracy of each method, in percent."""
    rows = bench.figures.rows(f"paper/{name}")
    return {row["method"]: 100 * float(row["accuracy"]) for row in rows}


def digits(bench):
    """What the page says of the thesis's digits, and of `grls_1`."""
    found = digits_of(bench, "figure_4_3") | digits_of(bench, "figure_4_5")
    best = found["polynomial SVM, …, support vectors shifted and distorted"]
    gaussian, linear, tuned = (found[m] for m in ("Gaussian SVM", "linear SVM", "network 200-200, tuned"))
    usual, sigmoid = found["network 200-200, as scikit-learn has it"], found["sigmoid SVM"]
    few, lifted = (found[f"G-RLSC, {m}"] for m in ("straightened, few labels", "…, geodesic neighbours free"))
    svm, svm_lifted = found["SVM, straightened, few labels"], found["SVM-GB, …, geodesic neighbours free"]
    svm_all, free_all = (
        found[m] for m in ("Gaussian SVM, straightened", "SVM-GB, straightened, nearest neighbours free")
    )
    return [
        f"| Gaussian SVM 98.35 % | yes: {gaussian:.2f} % |",
        f"| {linear:.2f} %: nearer to the second, 94.16 % |",
        f"Ours, {linear:.2f} %, is nearer to the second",
        f"**no**: {tuned:.2f} % and {gaussian:.2f} %; a kernel machine has {best:.2f} %",
        f"**no**: {sigmoid:.2f} % against {tuned:.2f} %",
        f"the network has {tuned:.2f} %, {usual - tuned:.1f} points less than with",
        f"the sigmoid machine is {tuned - sigmoid:.0f} points below the network",
        f"neighbours along the data lift G-RLSC from {few:.2f} to {lifted:.2f} %, SVM-GB from {svm:.2f} to "
        f"{svm_lifted:.2f} %, and to {found['SVM-GB, …, variance 10']:.2f} % with `feature_variance=10`",
        f"SVM-GB has {free_all:.2f} % with nearest neighbours free, {svm_all:.2f} % without",
    ]


def features_of_digits(bench):
    """What the page says of `figure_4_3_features`."""
    rows = {row["features"]: row for row in bench.figures.rows("paper/figure_4_3_features")}
    before = rows["the constant alone"]
    alone = {m: 100 * float(before[m]) for m in ("SVM-GB", "G-RLSC")}
    added = {
        m: {
            name: 100 * float(row[m]) - alone[m]
            for name, row in rows.items()
            if name not in ("the constant alone", "geodesic neighbours")  # which other digits take part in
        }
        for m in alone
    }
    lost = [1e-9 - points for points in added["SVM-GB"].values()]
    neighbours = added["G-RLSC"].pop("nearest neighbours")
    return [
        f"cost SVM-GB {min(lost):.1f} to {max(lost):.1f} points of {alone['SVM-GB']:.1f} % on held-out",
        f"G-RLSC loses {-neighbours:.1f} points to nearest neighbours and gains "
        f"{max(added['G-RLSC'].values()):.1f} at most from the others",
    ]


def search(bench):
    """What the page says of `figure_4_2`."""
    rows = bench.figures.rows("paper/figure_4_2")
    best = max(rows, key=lambda row: float(row["accuracy"]))
    accuracy = float(best["accuracy"])
    below = accuracy - bench.figures.value("paper/figure_4_2", "accuracy", log2C=1, log2g=-8)
    error = (accuracy * (1 - accuracy) / 1000) ** 0.5
    assert 0.4 < below / error < 0.6
    return [
        f"**no**: C = {2 ** int(best['log2C'])}, g = {2.0 ** int(best['log2g']):.4f}; "
        f"the thesis's pair is {100 * below:.1f} points below it, half a standard error",
        f"g = 2⁻⁸ is {100 * below:.1f} points below it in cross-validation",
    ]


def clouds(bench):
    """What the page says of the polynomial panel of `figure_3_1`."""
    rows = bench.figures.rows("paper/figure_3_1")
    best = {}
    for row in rows:
        if row["kernel"].startswith("polynomial"):
            best[row["component"]] = float(row["threshold_accuracy"])
    component = max(best, key=best.get)
    wrong = round(300 * (1 - best[component]))
    assert wrong == 2
    return [f"component {component} alone leaves two points of 300 on the wrong side"]


@pytest.mark.parametrize("told", [digits, features_of_digits, search, clouds])
def test_what_the_thesis_claims_is_told_as_it_came_out(bench, page, told):
    assert [phrase for phrase in told(bench) if phrase not in page] == []


def test_the_curves_of_the_first_figure_are_as_far_apart_as_told(bench, page):
    found = (bench.figures.RESULTS / "paper" / "grls_1.md").read_text(encoding="utf-8")
    (times,) = re.findall(r"curves of the three widths are (\S+) times as far apart", found)
    assert f"the three curves are {times} times closer (median of 20 draws)" in page


# How the page names what the tables call otherwise.
NAMES = {
    "sigmoid SVM (`figure_4_5`)": "sigmoid SVM",
    "network with two hidden layers, tuned (`figure_4_5`)": "network 200-200, tuned",
    "…, as scikit-learn has it": "network 200-200, as scikit-learn has it",
    "…, layers learnt without labels": "network 200-200, layers learnt without labels",
    "linear SVM, hinge loss, C = 1 (`figure_4_5`)": "linear SVM, hinge loss, C = 1",
}


def test_the_table_of_digits_has_the_accuracies_of_the_results(bench):
    """Row by row, and every method of the tables stands there."""
    found = digits_of(bench, "figure_4_3") | digits_of(bench, "figure_4_5")
    text = (ROOT / "bench" / "paper" / "RESULTS.md").read_text(encoding="utf-8")
    table = text.split("| method | training digits | accuracy | claimed |")[1].split("\n\n")[0]
    told = {}
    for line in table.splitlines()[2:]:
        _, name, _, accuracy, *_ = (cell.replace("*", "").strip() for cell in line.split("|"))
        told[NAMES.get(name, name)] = accuracy
    assert told == {method: f"{accuracy:.2f} %" for method, accuracy in found.items()}
