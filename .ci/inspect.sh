#!/usr/bin/env bash
# Types and tests of the tasks for Inspect, in an environment of its own: a library of Inspect's holds python-dateutil
# below 3, and the other stages test the newest.
set -euo pipefail
venv=.venv-inspect
rm -rf "$venv"
trap 'rm -rf "$venv"' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip --disable-pip-version-check --quiet install --editable '.[dev,inspect]'
"$venv/bin/mypy" benchmark/asyncguard_benchmark/harness/inspect_bridge \
  benchmark/asyncguard_benchmark/suites/asynctool/inspect_tasks.py
ASYNCGUARD_INSPECT=required "$venv/bin/pytest" tests/benchmark/test_inspect.py tests/benchmark/test_inspect_absent.py -n 2
