#!/usr/bin/env bash
# systemctl as far as the injected scripts use it: enable and disable make and remove the link that a boot would follow. No
# manager is asked; the unit's process is the test's to run.
set -euo pipefail
unit=${!#}
file=/etc/systemd/system/$unit
wants=/etc/systemd/system/multi-user.target.wants
case $1 in
  enable)
    [[ -f $file ]] || exit 1
    mkdir -p "$wants"
    ln -sf "$file" "$wants/$unit"
    ;;
  disable) rm -f "$wants/$unit" ;;
  *) exit 1 ;;
esac
