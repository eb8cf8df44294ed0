"""Tables of numbers: the default model beside other learners, tuned ones included.

`python -m bench.compare.tabular` splits every regression table of GRLS_DATA 80/20 with several seeds, fits
all methods on the same rows, and writes errors, densities, coverage, seconds, ranks and a picture.
"""
