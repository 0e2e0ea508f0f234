# Sourced: an environment that sees the packages of .venv, so that only those that differ are installed.

# overlay FOLDER: make it, remove it when the script ends, and name its interpreter in $python.
overlay() {
  local venv=$1
  make --no-print-directory setup
  rm -rf "$venv"
  # shellcheck disable=SC2064  # the folder is known now
  trap "rm -rf '$venv'" EXIT
  .venv/bin/python -m venv "$venv"
  python=$venv/bin/python
  # The name makes it the first of the folder's .pth files: those of editable packages need what it shows.
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/0-development.pth"
}

add_packages() { "$python" -m pip --disable-pip-version-check --quiet install "$@"; }
