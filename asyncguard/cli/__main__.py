"""Entry point of ``python -m asyncguard.cli``."""

import sys

from asyncguard.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
