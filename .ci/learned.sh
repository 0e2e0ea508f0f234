#!/usr/bin/env bash
# Tests of the learned agent, and a tiny training to the end, in an environment of its own: PyTorch is no part of the
# development environment. TORCH names the requirement, so that a CPU build can be asked for. `bash .ci/learned.sh prepare`
# makes the environment and checks the types.
set -euo pipefail
source .ci/overlay.sh

typed() {
  overlay .venv-learned
  # A plain `torch` is a CUDA build of gigabytes; this one lies on the machine.
  add_packages "${TORCH:-torch==2.13.0}" --editable '.[learned]'
  "$python" -m mypy benchmark/asyncguard_benchmark/learned
}

environment .venv-learned typed "${1:-}"
# The kept episodes need no torch: the slow tests have read them.
ASYNCGUARD_LEARNED=required "$python" -m pytest -n 2 --ignore=tests/benchmark/test_learned_kept.py \
  tests/benchmark/test_learned_*.py
work=.venv-learned/tiny  # removed with the environment
"$python" -m asyncguard_benchmark.learned train --tiny --out "$work"
"$python" -m asyncguard_benchmark.learned curve "$work/log.jsonl" --out "$work/curve.svg"
