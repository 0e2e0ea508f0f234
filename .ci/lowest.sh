#!/usr/bin/env bash
# Runs tests against the lowest versions that pyproject.toml allows, in an environment of its own, which
# `bash .ci/lowest.sh prepare` makes. Its interpreter is another of the minor version of .venv, where there is one: Debian 12
# has 3.11.2, whose regular expressions have faults that later ones have not.
set -euo pipefail
source .ci/overlay.sh

interpreter() {
  local name candidate
  name=$(.venv/bin/python -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
  for candidate in "$name" "/usr/bin/$name"; do
    if [[ $(prefix "$candidate") != "$(prefix .venv/bin/python)" ]]; then
      echo "$candidate"
      return
    fi
  done
  echo .venv/bin/python
}

# prefix PYTHON: where it is installed; as that of .venv, if it does not run.
prefix() {
  "$1" -c 'import sqlite3, sys, venv; print(sys.base_prefix)' 2>/dev/null ||
    .venv/bin/python -c 'import sys; print(sys.base_prefix)'
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
