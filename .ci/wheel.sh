#!/usr/bin/env bash
# Builds the wheel and the sdist, installs the wheel alone outside the checkout and runs the demo from it.
set -euo pipefail
checkout=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# From the sdist: what it lacks, the wheel would lack. hatchling is in the dev extra, so nothing is fetched to build.
"$checkout/.venv/bin/python" -m build --no-isolation --outdir "$work/dist" "$checkout"

"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check --quiet install "$work"/dist/*.whl
cd "$work"
"$work/venv/bin/python" "$checkout/.ci/wheel_contents.py" "$work"/dist/*.whl
# One composition shows that the wheel lacks nothing; the slow tests look at what the demo says.
"$work/venv/bin/asyncguard" bench demo --every 120
