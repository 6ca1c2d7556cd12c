#!/usr/bin/env bash
# enter.sh ROOT [--bind FROM TO]... -- COMMAND...
# Runs a command where /etc, /opt, /var/log and /usr/local/bin are ROOT's. To be called in a mount namespace of its own:
# what is mounted here goes with the last process in it.
set -euo pipefail
root=$1
shift
# What this machine has in /usr/local/bin stays reachable, through links in ROOT's.
mount --bind /usr/local/bin "$root/machine-bin"
for place in etc opt var/log usr/local/bin; do
  mount --bind "$root/$place" "/$place"
done
while [[ $1 == --bind ]]; do
  mkdir -p "$3"
  mount --bind "$2" "$3"
  shift 3
done
shift
exec "$@"
