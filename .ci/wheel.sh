#!/usr/bin/env bash
# Builds the wheel and the sdist, installs each outside the checkout, in an environment without anything else, and uses it:
# PYTHON=python3.13 bash .ci/wheel.sh [FOLDER]; the environment is kept in FOLDER.
set -euo pipefail
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=$(realpath -m "${1:-$work/venv}")

# From the sdist: what it lacks, the wheel would lack. hatchling is in the dev extra, so nothing is fetched to build.
"$checkout/.venv/bin/python" -m build --no-isolation --outdir "$work/dist" "$checkout"

rm -rf "$venv"
"${PYTHON:-python3}" -m venv "$venv"
cd "$work"
install() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet install "$@"; }
contents() { "$venv/bin/python" "$checkout/.ci/wheel_contents.py" "$work"/dist/*.whl; }

"$venv/bin/python" --version
install "$work"/dist/*.whl
contents
# One composition shows that the package lacks nothing; the slow tests look at what the demo says.
"$venv/bin/asyncguard" bench demo --every 120
# As pip builds it where there is no wheel; its requirements are the wheel's.
install --force-reinstall --no-deps "$work"/dist/*.tar.gz
contents
"$venv/bin/asyncguard" bench list >/dev/null
