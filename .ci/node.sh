#!/usr/bin/env bash
# Puts Node and npm of Debian's packages in place, which build the example for React.
set -euo pipefail
if command -v npm >/dev/null; then
  echo "npm is here"
  exit
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs npm >/dev/null
node --version
