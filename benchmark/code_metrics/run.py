"""Start the measurement; see :mod:`code_metrics.command`."""

import sys
from pathlib import Path

# The package is not installed; it lies beside the benchmark, and only the benchmark is shipped.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from code_metrics.command import main

if __name__ == "__main__":
    sys.exit(main())
