# shellcheck shell=bash
# Sourced by bash before a script (BASH_ENV). In $KILL_SCRIPT, the process dies before the command with the number $KILL_AT
# among those that its konnectivity functions run.
kill_point_passed=0
kill_point() {
  if [[ $BASHPID == "$$" && ${FUNCNAME[1]-} == ${KILL_FUNCTIONS:-konnectivity_}* ]]; then
    if ((++kill_point_passed == KILL_AT)); then kill -KILL "$$"; fi
  fi
  return 0
}
if [[ ${KILL_AT-} =~ ^[0-9]+$ && $0 == "${KILL_SCRIPT-}" ]]; then
  set -o functrace
  trap kill_point DEBUG
fi
