"""The parts of `grls.conformal`: scores, the promise that features make, coverage reports."""
