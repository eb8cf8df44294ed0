"""The papers' experiments, each with what the paper claims and what was found.

Run them with ``python -m bench.paper figure_3_1``, or ``--list`` to see which there are.

=================  ==========================================================================================
`registry`         what an experiment is, and the list of them: one module each in `bench.paper.experiments`
`run`              what an experiment is given: parameters, a seed, rows, cells that survive interruption
`output`           CSV, JSON, markdown, pictures; whether a result is already there
`command`          the command line
=================  ==========================================================================================

A new experiment is a module in ``experiments`` with a function that takes a `Run`, adds rows, saves a picture
and returns its findings::

    @experiment(
        title="Accuracy against labels",
        source="G-RLS, figure 3",
        claim="unpenalised features help most when labels are few",
        parameters={"sizes": [100, 400], "repeats": 10},
        quick={"repeats": 1},
        data=["20newsgroups_orig19997.jsonl.xz"],
        extent=["sizes", "repeats"],
    )
    def figure_3(run):
        for size in run.progress(run.sizes):
            run.cell(lambda: {"accuracy": measure(size)}, size=size)
        run.summary(["size", "accuracy"], means(run.rows))
        run.save(draw(run.rows))
        return [Finding("it does so", "+3.1 points with 100 labels", True)]

Cells are stored as they come. Parameters named in ``extent`` say how many there are: when these change, the
cells that are there stay. ``--max-seconds`` stops between cells, and the same command goes on; ``--report``
makes pages and pictures again from the cells. `RESULTS.md` beside this file tells what came out of it all.
"""
