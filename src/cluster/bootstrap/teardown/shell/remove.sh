# shellcheck shell=bash
# Takes what a bridge left from this host. Lines behind these functions name what to look at and what to remove; each is
# answered with one line: the path, what became of it and why, between tabs. Needs bash 4.4, coreutils and grep.

set -u
export LC_ALL=C
# Where the host's files lie; tests point it elsewhere.
root=${root:-}

say() {
  local why=${3:-}
  printf '%s\t%s\t%s\n' "$1" "$2" "${why//[$'\t\n']/ }"
}

is_there() {
  [[ -e $root$1 || -L $root$1 ]]
}

# look PATH: whether it is there.
look() {
  if is_there "$1"; then say "$1" there; else say "$1" absent; fi
}

# drop PATH: with everything in it.
drop() {
  local why
  if ! is_there "$1"; then
    say "$1" absent
  elif why=$(rm -rf -- "$root$1" 2>&1); then
    say "$1" removed
  else
    say "$1" left "$why"
  fi
}

# drop_unit PATH NAME: a unit is stopped and disabled before its file goes.
drop_unit() {
  local why
  if ! is_there "$1"; then
    say "$1" absent
  # Most often nobody ever started it.
  elif ! systemctl is-enabled --quiet "$2" 2>/dev/null && ! systemctl is-active --quiet "$2" 2>/dev/null; then
    drop "$1"
  elif why=$(systemctl disable --now "$2" 2>&1); then
    drop "$1"
    systemctl daemon-reload >/dev/null 2>&1
  else
    say "$1" left "$why"
  fi
}

# Whether a process was started with exactly this word. From a file, lest the search find itself.
runs_with() {
  # shellcheck disable=SC2062  # these are files
  printf '%s\n' "$1" | grep -qszxF -f - "$root"/proc/[0-9]*/cmdline
}

# drop_pod PATH SOCKET SECONDS: a static pod's manifest, and its server's end.
drop_pod() {
  local answer left=$3
  answer=$(drop "$1")
  while ((left > 0)) && runs_with "--uds-name=$2"; do
    sleep 1
    left=$((left - 1))
  done
  if runs_with "--uds-name=$2"; then
    say "$1" left "the kubelet has not ended its container yet"
  else
    printf '%s\n' "$answer"
  fi
}
