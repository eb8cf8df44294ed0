"""Where the sources lie, for tests that look at them: the benchmarks, the README, the C++ tree."""

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent


def needs(folder):
    """Skip where the tests travel without a folder of the repository, as beside an installed wheel."""
    return pytest.mark.skipif(
        not (ROOT / folder).is_dir(), reason=f"{folder} is not part of this distribution"
    )
