#!/usr/bin/env bash
# Puts the Chromium of Debian's packages in place, which the tests of the report drive.
set -euo pipefail
if [[ -n "${CHROMIUM:-}" ]] || command -v chromium >/dev/null; then
  echo "Chromium is here"
  exit
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null
chromium --version
