"""Nyström models beside their peers, and how they grow. Run it with ``python -m bench.nystrom``.

===============  ===========================================================================
`mnist`          60,000 digits, 1000 centres: scikit-learn's Nystroem and RidgeClassifier
`svc`            60,000 digits, more centres: scikit-learn-intelex's SVC
`rows`           time and memory of 10⁵ … 10⁶ rows
`exact`          time and memory of the exact model of 60,000 rows by conjugate gradients
`centres`        steps of conjugate gradients with centres drawn uniformly, and by pivots
`choice`         γ chosen without a matrix: its time over that of a fit, beside the closed form
`dask`           one and two workers beside the fit in memory
`regression`     protein and California housing: the exact model, and centres
`doubling`       what n_centers="auto" costs, over the fit with the number it keeps
`draws`          centres drawn uniformly, by leverage and by clusters: errors
===============  ===========================================================================

MNIST, protein and California housing are read from the folder that GRLS_DATA names; without it these scenes
are made of random numbers, and say so.
"""
