"""Real data in one table: error, bands and time of grls and its peers. Run it with ``python -m bench.real``.

===============  ===========================================================================
`scenes`         the data, their splits, and what one knows about them
`methods`        one function per method: fit a split, return mean and standard deviation
`freedom`        how free features should be: none, "auto" or unpenalised
`report`         CSV, JSON, markdown and the picture
===============  ===========================================================================

The data are found as `grls.datasets` finds them (``GRLS_DATA``); nothing is downloaded.
"""
