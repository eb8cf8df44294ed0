"""``python -m grls.cli`` is ``grls``."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
