#!/usr/bin/env bash
# Runs the fast tests against the lowest versions that pyproject.toml allows, in an environment of its own.
set -euo pipefail
venv=.venv-lowest
rm -rf "$venv"
trap 'rm -rf "$venv"' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" .ci/lowest.py >"$venv/constraints.txt"
cat "$venv/constraints.txt"
"$venv/bin/python" -m pip --disable-pip-version-check --quiet install --constraint "$venv/constraints.txt" --editable '.[dev]'
"$venv/bin/pytest" -m "not slow and not server" -n 3 --dist loadfile --ignore tests/benchmark tests
# Of the benchmark only what rests on the libraries: tasks, scorers and statistics do not.
"$venv/bin/pytest" -m "not slow and not server" -n 2 tests/benchmark/test_guarded_players.py tests/benchmark/test_models.py
