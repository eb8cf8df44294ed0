"""The page about the papers, bench/paper/RESULTS.md, tells the results as they came out."""

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


def test_the_table_of_digits_has_the_accuracies_of_the_results(bench):
    """Every accuracy that stands in a row of that table was computed."""
    computed = {
        f"{100 * float(row['accuracy']):.2f} %"
        for name in ("figure_4_3", "figure_4_5")
        for row in bench.figures.rows(f"paper/{name}")
    }
    text = (ROOT / "bench" / "paper" / "RESULTS.md").read_text(encoding="utf-8")
    table = (
        text.split("| method | training digits | accuracy | claimed |")[1].split("\n\n")[0].splitlines()[2:]
    )
    told = [line.split("|")[3].replace("*", "").strip() for line in table]
    assert len(told) > 10
    assert set(told) <= computed
