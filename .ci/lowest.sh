#!/usr/bin/env bash
# Runs tests against the lowest versions that pyproject.toml allows, in an environment of its own, which
# `bash .ci/lowest.sh prepare` makes. Its interpreter is the system's, where that has the minor version of .venv: Debian 12
# has 3.11.2, whose regular expressions have faults that later ones have not.
set -euo pipefail
source .ci/overlay.sh

interpreter() {
  local of_system
  of_system=/usr/bin/$(.venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  if "$of_system" -c 'import sqlite3, venv' 2>/dev/null; then echo "$of_system"; else echo .venv/bin/python; fi
}

installed() {
  overlay .venv-lowest "$(interpreter)"
  "$python" .ci/lowest.py constraints >.venv-lowest/constraints.txt
  "$python" .ci/lowest.py packages >.venv-lowest/packages.txt
  add_packages --constraint .venv-lowest/constraints.txt --requirement .venv-lowest/packages.txt --editable .
}

environment .venv-lowest installed "${1:-}"
"$python" --version
cat .venv-lowest/constraints.txt
# What passes the boundary to a library: agents through LangGraph and LangChain, their stored threads, DBOS, jsonschema,
# structlog, rich, tenacity, dateutil and filelock. Rules, scorers, statistics and documents are the project's own, and
# guards, recovery and approval decide alike whatever the version: tests/adapters/run and /tools pass the same calls. The
# patterns that evidence is read by depend on the interpreter.
"$python" -m pytest -m "not slow and not server" -n 3 --dist loadfile \
  tests/adapters/{ag_ui,messages,resume,run,tasks,threads,tools} tests/adapters/test_*.py tests/stored_state \
  tests/distributed tests/schema tests/observability tests/cli tests/testing tests/test_exports.py \
  tests/core tests/guards/test_provenance.py tests/adapters/recovery/test_retry_strategies.py tests/journal/test_file.py \
  tests/benchmark/test_guarded_players.py tests/benchmark/test_models.py
