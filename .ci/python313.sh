#!/usr/bin/env bash
# Wheel, sdist and tests under Python 3.13 with the newest versions of everything; the other stages run 3.11.
# ASYNCGUARD_PYTHON313 names the interpreter; else it is sought on PATH and in pyenv's folder. Without one the stage says so
# and passes, unless ASYNCGUARD_PYTHON313=required. `bash .ci/python313.sh prepare` tries wheel and sdist, and leaves the
# environment to the tests.
set -euo pipefail
source .ci/overlay.sh

found() {
  local candidate
  for candidate in "${ASYNCGUARD_PYTHON313:-}" python3.13 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.13*/bin/python3.13; do
    # pyenv's shim of a version that is not chosen is on PATH, too, and only fails.
    if [[ -n $candidate ]] && "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

if ! python313=$(found); then
  echo "NOT RUN: there is no Python 3.13 here; wheel, sdist and tests were not tried with it." >&2
  [[ ${ASYNCGUARD_PYTHON313:-} != required ]]
  exit
fi

installed() {
  PYTHON=$python313 bash .ci/wheel.sh .venv-python313
  # The development extra without linters, builders, and the servers and browsers of slow tests.
  "$python" - >.venv-python313/packages.txt <<'PYTHON'
import re, tomllib
dev = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"]
unused = r"build|editables|hatchling|import-linter|langgraph-cli|mypy|playwright|ruff|types-"
print("\n".join(each for each in dev if not re.match(unused, each)))
PYTHON
  "$python" -m pip --disable-pip-version-check --quiet install --no-compile --requirement .venv-python313/packages.txt
}

environment .venv-python313 installed "${1:-}"
# What the interpreter or a newer library may change: the engine, its files, the boundary to LangGraph and LangChain.
"$python" -m pytest -q -m "not slow and not server" -n "${WORKERS:-3}" --dist loadfile \
  tests/core tests/guards tests/runtime tests/journal tests/adapters/{ag_ui,run,tools} tests/adapters/test_*.py \
  tests/test_exports.py
