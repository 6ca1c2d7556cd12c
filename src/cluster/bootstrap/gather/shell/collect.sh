# shellcheck shell=bash
# Collects what explains a bridge on this host and writes it to standard output as a tar archive. Lines behind these
# functions name what to collect: an allowlist, so that keys, kubeconfigs and Secrets are never touched. Reads only.
# Needs bash 4.4, coreutils and tar; everything else is used where it is there.

set -u
umask 077
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin:/usr/local/bin"
# Where the host's files lie; tests point it elsewhere.
root=${root:-}
# The end of a log says why; its beginning is seldom missed.
limit=$((8 * 1024 * 1024))
work=$(mktemp -d) || exit 1
trap 'rm -rf -- "$work"' EXIT

note() {
  echo "$*" >>"$work/gather.log"
}

# put TARGET COMMAND...: what a command prints.
put() {
  local target=$work/$1
  shift
  if ! command -v "$1" >/dev/null; then
    note "$1 is not on this host"
    return 0
  fi
  mkdir -p -- "${target%/*}"
  timeout 20 "$@" 2>&1 | tail -c "$limit" >"$target"
  local code=${PIPESTATUS[0]}
  if [[ $code != 0 ]]; then note "$* ended with $code"; fi
  if [[ ! -s $target ]]; then rm -f -- "$target"; fi
}

# file SOURCE TARGET: a file, if it is there.
file() {
  local source=$root$1 target=$work/$2
  case ${source##*/} in *.key | *secret* | *kubeconfig*) return 0 ;; esac
  if [[ ! -f $source || -e $target ]]; then return 0; fi
  mkdir -p -- "${target%/*}"
  end_of "$source" >"$target" || note "$1 cannot be read"
}

# end_of FILE: its last lines. A line that the cut went through may hold half a secret, so it goes.
end_of() {
  if [[ $(wc -c <"$1") -gt $limit ]]; then
    tail -c "$limit" -- "$1" | tail -n +2
  else
    cat -- "$1"
  fi
}

# files FOLDER PATTERN TARGET: the files of a folder whose names match.
files() {
  local path
  for path in "$root$1"/*; do
    # shellcheck disable=SC2053  # the pattern is meant as one
    if [[ ${path##*/} == $2 ]]; then file "${path#"$root"}" "$3/${path##*/}"; fi
  done
}

# listing PATH TARGET: names, modes and owners of what is there.
listing() {
  if [[ ! -e $root$1 ]]; then return 0; fi
  mkdir -p -- "$work/${2%/*}"
  ls -lan -- "$root$1" >>"$work/$2" 2>&1
}

# access PATH TARGET: who may use it: kind, mode, owner and SELinux label of it and of every directory above it.
access() {
  local path=$1
  mkdir -p -- "$work/${2%/*}"
  while [[ $path == /?* ]]; do
    if [[ -e $root$path || -L $root$path ]]; then
      echo "$path $(stat --format='%F, mode %a, owner %u:%g, label %C' -- "$root$path" 2>/dev/null)" >>"$work/$2"
    else
      echo "$path is not there" >>"$work/$2"
    fi
    path=${path%/*}
  done
}

# users TARGET NAME...: as whom processes of these names run, and with which words.
users() {
  local target=$1 names
  shift
  printf -v names '%s,' "$@"
  # Without such a process ps prints only its heading, and fails.
  if [[ -n $root ]] || ! ps -C "${names%,}" >/dev/null 2>&1; then return 0; fi
  put "$target" ps -ww -C "${names%,}" -o pid,uid,gid,supgid,label,args
}

# journal UNIT FOLDER: its lines of this boot and the ones before.
journal() {
  if [[ -n $root ]] || ! command -v journalctl >/dev/null; then return 0; fi
  if ! systemctl cat "$1" >/dev/null 2>&1; then return 0; fi
  put "$2/journals/${1%.service}.log" journalctl --no-pager --output=short-iso --lines=20000 --unit "$1"
}

# containers FOLDER NAME...: logs and states of the containers of these names, living and dead.
containers() {
  local folder=$1/containers name id log pod
  shift
  for name in "$@"; do
    if [[ -z $root ]] && command -v crictl >/dev/null; then
      for id in $(timeout 20 crictl ps --all --quiet --name "^$name\$" 2>/dev/null | head -n 8); do
        put "$folder/$name-${id:0:13}.log" crictl logs "$id"
        put "$folder/$name-${id:0:13}.inspect" crictl inspect "$id"
      done
    fi
    # Without a runtime to ask, and for containers that it has forgotten: the kubelet's own files.
    if compgen -G "$work/$folder/$name-*.log" >/dev/null; then continue; fi
    for log in "$root/var/log/pods"/*/"$name"/*.log; do
      if [[ ! -f $log ]]; then continue; fi
      pod=${log#"$root/var/log/pods/"}
      pod=${pod%%/*}
      file "${log#"$root"}" "$folder/$name-${pod//_/-}-${log##*/}"
    done
  done
}

# answer URL TARGET: the status of an HTTP answer in the first line, its text behind.
answer() {
  if ! command -v curl >/dev/null; then return 0; fi
  local body
  body=$(timeout 10 curl --silent --max-time 5 --noproxy '*' --write-out $'\n%{http_code}' "$1" 2>/dev/null) || return 0
  mkdir -p -- "$work/${2%/*}"
  printf '%s\n%s\n' "${body##*$'\n'}" "${body%$'\n'*}" >"$work/$2"
}

# metrics URL TARGET: only the text.
metrics() {
  if ! command -v curl >/dev/null; then return 0; fi
  put "$2" curl --silent --fail --max-time 5 --noproxy '*' "$1"
}

send() {
  tar -C "$work" -cf - .
}
