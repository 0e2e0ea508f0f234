"""Start the proof; see :mod:`reliability.command`."""

import sys
from pathlib import Path

# The package is not installed: it stands beside the benchmark, of which only another package is shipped.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reliability.command import main

if __name__ == "__main__":
    sys.exit(main())
