#!/usr/bin/env bash
# Runs tests against the lowest versions that pyproject.toml allows, in an environment of its own, which
# `bash .ci/lowest.sh prepare` makes.
set -euo pipefail
source .ci/overlay.sh

installed() {
  overlay .venv-lowest
  "$python" .ci/lowest.py constraints >.venv-lowest/constraints.txt
  "$python" .ci/lowest.py packages >.venv-lowest/packages.txt
  add_packages --constraint .venv-lowest/constraints.txt --requirement .venv-lowest/packages.txt --editable .
}

environment .venv-lowest installed "${1:-}"
cat .venv-lowest/constraints.txt
# What passes the boundary to a library: agents through LangGraph and LangChain, their stored threads, DBOS, jsonschema,
# structlog, rich, tenacity, dateutil and filelock. Rules, scorers, statistics and documents are the project's own, and
# guards, recovery and approval decide alike whatever the version: tests/adapters/run and /tools pass the same calls.
"$python" -m pytest -m "not slow and not server" -n 3 --dist loadfile \
  tests/adapters/{ag_ui,messages,resume,run,tasks,threads,tools} tests/adapters/test_*.py tests/stored_state \
  tests/distributed tests/schema tests/observability tests/cli tests/testing tests/test_exports.py \
  tests/core/test_evidence.py tests/adapters/recovery/test_retry_strategies.py tests/journal/test_file.py \
  tests/benchmark/test_guarded_players.py tests/benchmark/test_models.py
