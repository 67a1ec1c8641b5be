"""``python -m discreet``: the command line."""

import sys

from discreet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
