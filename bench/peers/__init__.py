"""grls beside its peers and beside the cost of the arithmetic alone. Run it with ``python -m bench.peers``.

===============  ===========================================================================
`problems`       the two scenes: digits-like rows with ten features, spatial data with a trend
`adapters`       one function per peer: fit a problem, return a function that predicts
`limit`          the raw syrk, exp and potrf that no fit can do without
`timing`         interleaved repetitions, medians, spreads
`memory`         the peak of one fit, in a process of its own
`report`         CSV, JSON, markdown and the picture
===============  ===========================================================================
"""
