"""`SVMGBClassifier` beside other support vector machines. Run it with ``python -m bench.svm``.

================  ==========================================================================================
`problems`        two overlapping classes of random numbers; handwritten digits where ``GRLS_DATA`` has them
`machines`        one adapter per peer: fit, and what the model is
`run`             the same objective checked for everybody, then interleaved times, CSV, JSON and markdown
`features`        free, chosen and no features on real data, defaults beside others (``bench.svm.features``)
================  ==========================================================================================
"""
