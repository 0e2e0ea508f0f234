# Sourced: an environment of a stage's own, made for it alone or by an earlier `.ci/STAGE.sh prepare`.

# Whatever the environment says, Python and pytest keep what they compiled: else each worker compiles the tests again.
export PYTHONDONTWRITEBYTECODE=
# What another version breaks, it breaks in most cases of a test: a quarter of those of the fast tests shows it.
export ASYNCGUARD_THINNER=4

# environment FOLDER FUNCTION [prepare]: call FUNCTION, which makes the folder and says that it is good, name its interpreter
# in $python, and remove the folder when the script ends. `prepare` ends the script here and leaves the folder to the next
# call in the same run of `.ci/run`; what another run left is made again, as the code may have changed.
environment() {
  local venv=$1
  python=$venv/bin/python
  # shellcheck disable=SC2064  # the folder is known now
  trap "rm -rf '$venv'" EXIT
  if [[ -z ${ASYNCGUARD_RUN:-} || $(cat "$venv/prepared" 2>/dev/null) != "$ASYNCGUARD_RUN" ]]; then
    make --no-print-directory setup
    rm -rf "$venv"
    "$2"
  fi
  if [[ ${3:-} == prepare ]]; then
    echo "${ASYNCGUARD_RUN:-}" >"$venv/prepared"
    trap - EXIT
    exit
  fi
}

# overlay FOLDER [PYTHON]: an environment that sees the packages of .venv, so that only those that differ are installed. The
# pip of .venv does that. PYTHON has the minor version of .venv.
overlay() {
  "${2:-.venv/bin/python}" -m venv --without-pip "$1"
  # The name makes it the first of the folder's .pth files: those of editable packages need what it shows.
  .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
    >"$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/0-development.pth"
}

# What builds asyncguard is in .venv: an environment of its own for that would be filled from the network.
add_packages() {
  .venv/bin/python -m pip --disable-pip-version-check --quiet --python "$python" install --no-build-isolation "$@"
}
