#!/usr/bin/env bash
# A throw-away PostgreSQL for one run of the tests: export "$(bash .ci/postgres.sh $$)"
# It is installed if it is missing (Debian and its kin), belongs to an unprivileged user, listens on loopback only, and
# ends, with its data, when the process whose number is given is gone. The only line on standard output is
# ASYNCGUARD_TEST_POSTGRES=postgresql://...
set -euo pipefail

owner=${1:?say whose end ends the server: bash .ci/postgres.sh \$\$}

tools() { find /usr/lib/postgresql -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1 | xargs -r dirname; }

if [[ -z $(tools) ]]; then
  echo "PostgreSQL is not installed; installing it" >&2
  as_root=()
  ((EUID == 0)) || as_root=(sudo --non-interactive)
  # No cluster of the system's: this one is made here, and removed.
  "${as_root[@]}" mkdir -p /etc/postgresql-common
  [[ -e /etc/postgresql-common/createcluster.conf ]] ||
    echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql >&2
fi
bin=$(tools)

# In memory, if it has room: each test drops its database, which waits until all that was written has reached the files.
place=${TMPDIR:-/tmp}
free=$(df --output=avail --block-size=1G /dev/shm 2>/dev/null | tail -n 1 || true)
((${free:-0} < 2)) || place=/dev/shm
folder=$(mktemp -d "$place/asyncguard-postgres-XXXXXX")
user=()
if ((EUID == 0)); then # the server refuses to be root
  name=nobody
  ! id postgres >/dev/null 2>&1 || name=postgres
  chown "$name" "$folder"
  user=(setpriv --reuid "$name" --regid "$(id -g "$name")" --clear-groups)
fi
chmod 700 "$folder"
cd /
log=$folder/log
"${user[@]}" "$bin/initdb" -D "$folder/data" --auth=trust --username=postgres --encoding=UTF8 --locale=C --no-sync >&2

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
watch() {
  "${user[@]}" "$bin/postgres" -D "$folder/data" -p "$port" -k "$folder" -c listen_addresses=127.0.0.1 \
    -c max_connections=200 -c fsync=off &  # no test cuts the power
  local server=$!
  while kill -0 "$owner" 2>/dev/null && kill -0 "$server" 2>/dev/null; do sleep 1; done
  kill -QUIT "$server" 2>/dev/null || true
  wait "$server" || true
  rm -rf "$folder"
}
watch >"$log" 2>&1 </dev/null &

for ((try = 0; try < 300; try++)); do
  if "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"; then
    echo "ASYNCGUARD_TEST_POSTGRES=postgresql://postgres@127.0.0.1:$port/postgres"
    exit 0
  fi
  kill -0 $! 2>/dev/null || break
  sleep 0.1
done
echo "PostgreSQL did not start:" >&2
cat "$log" >&2 || true
exit 1
