#!/usr/bin/env bash
# Types and tests of the tasks for Inspect, in an environment of its own: a library of Inspect's holds python-dateutil
# below 3, and the other stages test the newest. `bash .ci/inspect.sh full` plays all of the suite `lite`; `prepare` makes
# the environment and checks the types.
set -euo pipefail
source .ci/overlay.sh

typed() {
  overlay .venv-inspect
  add_packages --editable '.[inspect]'
  "$python" -m mypy benchmark/asyncguard_benchmark/harness/inspect_bridge \
    benchmark/asyncguard_benchmark/suites/asynctool/inspect_tasks.py
}

environment .venv-inspect typed "${1:-}"
ASYNCGUARD_INSPECT=required "$python" -m pytest -m "${1:-not full}" -n 2 \
  tests/benchmark/test_inspect.py tests/benchmark/test_extras_absent.py
