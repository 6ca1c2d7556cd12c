#!/usr/bin/env bash
# Service records with the interface and the file format of the bootstrap host's: one JSON array a service, an entry for
# each start and end, an end for whatever is open when the script exits. Starting a stage inside another ends the script.
SERVICE_RECORDS_DIR=${SERVICE_RECORDS_DIR:-/var/log/openshift}
SERVICE_NAME=${SERVICE_NAME:-bootkube}
STAGE_NAME=

record_entry() { # PHASE [RESULT [LINE]]
  local file=$SERVICE_RECORDS_DIR/$SERVICE_NAME.json
  mkdir -p "$SERVICE_RECORDS_DIR"
  [ -s "$file" ] || echo '[]' >"$file"
  jq --arg timestamp "$(date +%Y-%m-%dT%H:%M:%SZ)" --arg phase "$1" --arg result "${2-}" --arg stage "$STAGE_NAME" \
    --arg errorLine "${3-}" \
    '. + [{$timestamp, $phase, $result, $stage, $errorLine} | with_entries(select(.value != ""))]' \
    "$file" >"$file.tmp"
  mv "$file.tmp" "$file"
}

record_service_stage_start() {
  if [ -n "$STAGE_NAME" ]; then
    echo "stage $STAGE_NAME is still open"
    exit 1
  fi
  STAGE_NAME=$1
  record_entry "stage start"
}

record_service_stage_success() {
  [ -n "$STAGE_NAME" ] || exit 1
  record_entry "stage end" success
  STAGE_NAME=
}

record_service_stage_failure() {
  [ -n "$STAGE_NAME" ] || exit 1
  record_entry "stage end" failure "$(caller)"
  STAGE_NAME=
}

record_exit() {
  local result=success line=
  if [ "$1" -ne 0 ]; then
    result=failure
    line=$(caller)
  fi
  if [ -n "$STAGE_NAME" ]; then
    record_entry "stage end" "$result" "$line"
    STAGE_NAME=
  fi
  record_entry "service end" "$result" "$line"
}

record_entry "service start"
trap 'record_exit $?' EXIT
