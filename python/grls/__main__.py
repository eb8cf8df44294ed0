"""``python -m grls`` is ``grls``, also where the folder of scripts is not on the path."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
