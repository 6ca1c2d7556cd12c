# shellcheck shell=bash
# The bridge on an OpenShift bootstrap host, as functions that bootkube.sh sources and calls:
#
#   konnectivity_setup       certificates and the server's static pod, before the kube-apiserver is rendered
#   konnectivity_manifests   the agents' objects, before cluster-bootstrap creates what lies in manifests/
#   konnectivity_cleanup     takes everything away again, when the cluster's own control plane has taken over
#
# Executed instead of sourced it is konnectivity-cleanup.service, which goes on with a clean-up that bootkube.sh could not
# finish in its time.
#
# Each may be called again after any interruption: a stage that ended leaves <stage>.done and is not run again. Shell
# options are the caller's: every command here is checked by itself and holds under errexit, nounset and pipefail.
# Needs bash 4.4, coreutils, sed, ip, jq, openssl (in the certificates' script), oc, and image_for of release-image.sh.

# Where things lie; tests point them elsewhere.
: "${KONNECTIVITY_ASSETS:=/opt/openshift}"
: "${KONNECTIVITY_KUBERNETES:=/etc/kubernetes}"
: "${KONNECTIVITY_TLS_DIR:=$KONNECTIVITY_ASSETS/tls/konnectivity}"
: "${KONNECTIVITY_CERTS:=/usr/local/bin/konnectivity-certs.sh}"
: "${KONNECTIVITY_NAMESPACE:=openshift-bootstrap-konnectivity}"

# What the cluster's own manifests say; lines above this file's text set them.
: "${KONNECTIVITY_BOOTSTRAP_IP:=}"     # the address that agents dial; empty: found on the host
: "${KONNECTIVITY_FAMILY:=4}"          # 6 when the first service network is IPv6
: "${KONNECTIVITY_MACHINE_NETWORKS:=}" # CIDRs, separated by spaces
: "${KONNECTIVITY_PROBES:=}"           # one address inside each of them
: "${KONNECTIVITY_SHARED_IPS:=}"       # virtual addresses, which move to other hosts

# Unanswered deletions may not keep bootkube.sh from its end; after this time the unit goes on.
: "${KONNECTIVITY_CLEANUP_SECONDS:=120}"
# The unit tries in runs of this length, and records each that failed.
: "${KONNECTIVITY_RETRY_SECONDS:=600}"
: "${KONNECTIVITY_UNIT:=konnectivity-cleanup.service}"
: "${KONNECTIVITY_RECORDS:=/usr/local/bin/bootstrap-service-record.sh}"
# How a clean-up stands that outlasted its stage. bootkube.sh makes no such file when its own stage succeeds.
KONNECTIVITY_STATE=$KONNECTIVITY_ASSETS/konnectivity-cleanup.json

konnectivity_setup() {
  if [[ -f $KONNECTIVITY_ASSETS/konnectivity-cleanup.done ]]; then return 0; fi
  konnectivity_recheck_address
  konnectivity_stage konnectivity-certs konnectivity_make_certificates
  konnectivity_stage konnectivity-server-bootstrap konnectivity_write_server
}

konnectivity_manifests() {
  if [[ -f $KONNECTIVITY_ASSETS/konnectivity-cleanup.done ]]; then return 0; fi
  konnectivity_stage konnectivity-agent-manifest konnectivity_write_manifests
}

konnectivity_cleanup() {
  if [[ -f $KONNECTIVITY_ASSETS/konnectivity-cleanup.done ]]; then return 0; fi
  konnectivity_record start konnectivity-cleanup
  local result=success
  if konnectivity_take_down "$KONNECTIVITY_CLEANUP_SECONDS" 5; then
    # Only after an earlier run, which was interrupted behind its own hand-over.
    if [[ -f $KONNECTIVITY_STATE ]]; then konnectivity_end_retries removed; fi
  else
    result=failure
    konnectivity_hand_over
  fi
  touch -- "$KONNECTIVITY_ASSETS/konnectivity-cleanup.done" ||
    konnectivity_fail "konnectivity-cleanup.done could not be written; make room on the disk of $KONNECTIVITY_ASSETS"
  # Recorded, but not fatal: nothing depends on the tunnel any more, and the unit goes on.
  konnectivity_record "$result"
}

# --- stages ----------------------------------------------------------------------------------------------------------

# konnectivity_stage NAME FUNCTION: runs it once, and records it as the host's other stages are recorded.
konnectivity_stage() {
  local stage=$1 body=$2
  if [[ -f $KONNECTIVITY_ASSETS/$stage.done ]]; then return 0; fi
  konnectivity_record start "$stage"
  "$body"
  touch -- "$KONNECTIVITY_ASSETS/$stage.done" ||
    konnectivity_fail "$stage.done could not be written; make room on the disk of $KONNECTIVITY_ASSETS"
  konnectivity_record success
}

# Releases before 4.8 keep no records.
konnectivity_record() {
  if declare -F "record_service_stage_$1" >/dev/null; then "record_service_stage_$1" "${@:2}"; fi
}

konnectivity_say() {
  echo "konnectivity: $*" >&2
}

# The open stage is recorded as failed by the library's exit trap, and systemd starts bootkube.sh again.
konnectivity_fail() {
  konnectivity_say "$*"
  exit 1
}

konnectivity_make_certificates() {
  local address extra
  address=$(konnectivity_address) || exit 1
  extra=$(konnectivity_other_family) || exit 1
  konnectivity_say "agents will dial $address"
  # One word for each address: an extra one only where there is one.
  KONNECTIVITY_TLS_DIR=$KONNECTIVITY_TLS_DIR "$KONNECTIVITY_CERTS" "$address" ${extra:+"$extra"} ||
    konnectivity_fail "the certificates for $address could not be made; the line above names the reason"
}

konnectivity_write_server() {
  mkdir -p -- "$KONNECTIVITY_KUBERNETES/manifests" "$KONNECTIVITY_KUBERNETES/bootstrap-configs" ||
    konnectivity_fail "the directories under $KONNECTIVITY_KUBERNETES could not be made; check the disk"
  konnectivity_fill konnectivity-server-pod.yaml "$KONNECTIVITY_KUBERNETES/manifests/konnectivity-server-pod.yaml"
}

konnectivity_write_manifests() {
  local name template target
  mkdir -p -- "$KONNECTIVITY_ASSETS/manifests" ||
    konnectivity_fail "$KONNECTIVITY_ASSETS/manifests could not be made; check the disk"
  for name in namespace agent-serviceaccount agent-rolebinding agent-certs agent-daemonset; do
    template=konnectivity-$name.yaml
    target=$KONNECTIVITY_ASSETS/manifests/$template
    if [[ $name == agent-certs ]]; then template=konnectivity-agent-certs-secret.yaml; fi
    # Only agents on the host's network bring a service account of their own.
    if [[ $name == agent-serviceaccount || $name == agent-rolebinding ]] &&
      [[ ! -f $KONNECTIVITY_ASSETS/$template ]]; then
      continue
    fi
    konnectivity_fill "$template" "$target"
  done
}

# --- templates -------------------------------------------------------------------------------------------------------

# konnectivity_fill TEMPLATE TARGET: puts values in for placeholders. The target appears whole; until then it has a name
# that the kubelet passes over. Values reach sed through a pipe, because others can read arguments.
konnectivity_fill() {
  local template=$KONNECTIVITY_ASSETS/$1 target=$2 beside text script
  beside=${target%/*}/.${target##*/}
  text=$(cat -- "$template") || konnectivity_fail "$template is missing; inject the bridge into bootstrap.ign again"
  script=$(konnectivity_values "$text") || exit 1
  (
    umask 077
    printf '%s\n' "$script" | sed -f /dev/stdin -- "$template" >"$beside"
  ) || konnectivity_fail "$target could not be written; make room on its disk"
  text=$(cat -- "$beside") || konnectivity_fail "$beside cannot be read back; check the disk"
  # shellcheck disable=SC2016  # the two characters themselves
  if [[ $text == *'${'* ]]; then
    konnectivity_fail "$template has a placeholder that nothing fills; inject the bridge into bootstrap.ign again"
  fi
  mv -f -- "$beside" "$target" || konnectivity_fail "$target could not be put in place; check the disk"
}

# konnectivity_values TEXT: sed's commands for the placeholders that stand in it.
konnectivity_values() {
  local name value
  for name in KONNECTIVITY_IMAGE BOOTSTRAP_NODE_IP KONNECTIVITY_AGENT_CERT_BASE64 KONNECTIVITY_AGENT_KEY_BASE64 \
    KONNECTIVITY_CA_CERT_BASE64; do
    if [[ $1 != *"\${$name}"* ]]; then continue; fi
    value=$(konnectivity_value "$name") || exit 1
    # What sed or YAML could take for something else has no place in a pull spec, an address or base64.
    if [[ ! $value =~ ^[A-Za-z0-9._:/@+=-]+$ ]]; then
      konnectivity_fail "the value found for $name cannot be used in a manifest; check the host's release image and certificates"
    fi
    echo "s|\${$name}|$value|g"
  done
}

konnectivity_value() {
  case $1 in
    KONNECTIVITY_IMAGE) konnectivity_image ;;
    BOOTSTRAP_NODE_IP) konnectivity_certified_address ;;
    KONNECTIVITY_AGENT_CERT_BASE64) base64 -w0 -- "$KONNECTIVITY_TLS_DIR/agent.crt" ;;
    KONNECTIVITY_AGENT_KEY_BASE64) base64 -w0 -- "$KONNECTIVITY_TLS_DIR/agent.key" ;;
    KONNECTIVITY_CA_CERT_BASE64) base64 -w0 -- "$KONNECTIVITY_TLS_DIR/ca.crt" ;;
  esac || konnectivity_fail "no value for $1: see the line above"
}

konnectivity_image() {
  local image
  if ! image=$(image_for apiserver-network-proxy) || [[ -z $image ]]; then
    konnectivity_fail "this release has no image apiserver-network-proxy; inject again with --image and one that has proxy-server and proxy-agent"
  fi
  echo "$image"
}

# --- addresses -------------------------------------------------------------------------------------------------------

# The address in the certificate is the one that agents are told, also after the host got another.
konnectivity_certified_address() {
  jq -er '.options.ipAddresses[0]' "$KONNECTIVITY_TLS_DIR/pki.json"
}

# Certificates are made once; a host that came back without the address in them can no longer be reached under it.
konnectivity_recheck_address() {
  if [[ ! -f $KONNECTIVITY_ASSETS/konnectivity-certs.done ]]; then return 0; fi
  local certified held
  if ! certified=$(konnectivity_certified_address 2>/dev/null); then
    # Gone once agents were handed out: a cleanup was interrupted. Gone before: they can simply be made again.
    if [[ ! -f $KONNECTIVITY_ASSETS/konnectivity-agent-manifest.done ]]; then
      rm -f -- "$KONNECTIVITY_ASSETS/konnectivity-certs.done"
    fi
    return 0
  fi
  # A configured address may be one that only a router in front of this host knows.
  if [[ $certified == "$KONNECTIVITY_BOOTSTRAP_IP" ]]; then return 0; fi
  held=$(konnectivity_held_addresses) || return 0
  if [[ " $held " == *" $certified "* ]]; then return 0; fi
  konnectivity_record start konnectivity-certs
  konnectivity_fail "this host no longer has $certified, which the certificates were made for (it has: ${held:-none}); give it that address back, or remove $KONNECTIVITY_TLS_DIR and $KONNECTIVITY_ASSETS/konnectivity-*.done to begin anew"
}

# Every global address of this host, on one line.
konnectivity_held_addresses() {
  ip -j address show scope global | jq -r '[.[].addr_info[]?.local] | map(select(. != null)) | join(" ")'
}

konnectivity_address() {
  local address=$KONNECTIVITY_BOOTSTRAP_IP probe found=()
  if [[ -n $address ]]; then
    konnectivity_usable "$(konnectivity_family "$address")" "$address" ||
      konnectivity_fail "the configured bootstrap address $address cannot be used; inject again with another --bootstrap-ip"
    echo "$address"
    return 0
  fi
  address=$(konnectivity_route_source "$KONNECTIVITY_FAMILY" "$(konnectivity_far_away "$KONNECTIVITY_FAMILY")")
  if ! konnectivity_usable "$KONNECTIVITY_FAMILY" "$address"; then address=; fi
  if [[ -n $address ]] && konnectivity_in_machine_network "$address"; then
    echo "$address"
    return 0
  fi
  for probe in $KONNECTIVITY_PROBES; do
    if [[ $(konnectivity_family "$probe") == "$KONNECTIVITY_FAMILY" ]]; then
      found+=("$(konnectivity_route_source "$KONNECTIVITY_FAMILY" "$probe")")
    fi
  done
  for probe in ${found[@]+"${found[@]}"} $(konnectivity_held_addresses || true); do
    if konnectivity_usable "$KONNECTIVITY_FAMILY" "$probe" && konnectivity_in_machine_network "$probe"; then
      echo "$probe"
      return 0
    fi
  done
  if [[ -z $address ]]; then
    konnectivity_fail "this host has no IPv$KONNECTIVITY_FAMILY address that agents could dial (no default route, and none in the machine networks: ${KONNECTIVITY_MACHINE_NETWORKS:-not known}); give it one, or inject again with --bootstrap-ip"
  fi
  konnectivity_say "warning: $address lies outside the machine networks $KONNECTIVITY_MACHINE_NETWORKS; if agents cannot dial it, inject again with --bootstrap-ip"
  echo "$address"
}

# An address of the other family goes into the certificate too, for hosts that have both.
konnectivity_other_family() {
  local family=6 address
  if [[ $KONNECTIVITY_FAMILY == 6 ]]; then family=4; fi
  if [[ -n $KONNECTIVITY_BOOTSTRAP_IP ]]; then return 0; fi
  address=$(konnectivity_route_source "$family" "$(konnectivity_far_away "$family")")
  if konnectivity_usable "$family" "$address"; then echo "$address"; fi
}

# A question to the routing table; nothing is sent.
konnectivity_route_source() {
  ip "-$1" -j route get "$2" 2>/dev/null | jq -r '.[0].prefsrc // empty' 2>/dev/null || true
}

konnectivity_far_away() {
  if [[ $1 == 6 ]]; then echo 2001:4860:4860::8888; else echo 1.1.1.1; fi
}

konnectivity_family() {
  if [[ $1 == *:* ]]; then echo 6; else echo 4; fi
}

# konnectivity_usable FAMILY ADDRESS: an address of that family by which other hosts can reach this one.
konnectivity_usable() {
  local hex
  if [[ -z $2 || $(konnectivity_family "$2") != "$1" || " $KONNECTIVITY_SHARED_IPS " == *" $2 "* ]]; then return 1; fi
  hex=$(konnectivity_hex "$2") || return 1
  case $hex in
    # IPv4: this network, loopback, link-local, multicast and above
    00?????? | 7f?????? | a9fe???? | [ef]???????) return 1 ;;
    # IPv6: unspecified and loopback, link-local, multicast
    0000000000000000000000000000000[01] | fe[89ab]????????????????????????????? | ff??????????????????????????????) return 1 ;;
  esac
}

# True as well when the cluster names no machine network of that family.
konnectivity_in_machine_network() {
  local network none=true
  for network in $KONNECTIVITY_MACHINE_NETWORKS; do
    if [[ $(konnectivity_family "$network") != "$(konnectivity_family "$1")" ]]; then continue; fi
    none=false
    if konnectivity_in_network "$1" "$network"; then return 0; fi
  done
  [[ $none == true ]]
}

konnectivity_in_network() {
  local address base bits=${2#*/} whole rest
  address=$(konnectivity_hex "$1") || return 1
  base=$(konnectivity_hex "${2%/*}") || return 1
  whole=$((bits / 4)) rest=$((4 - bits % 4))
  if [[ ${address:0:whole} != "${base:0:whole}" ]]; then return 1; fi
  if ((rest == 4)); then return 0; fi
  ((16#${address:whole:1} >> rest == 16#${base:whole:1} >> rest))
}

# The address as 8 or 32 hexadecimal digits; fails when it is none.
konnectivity_hex() {
  local address=$1 part left=() right=() missing
  if [[ $address != *:* ]]; then
    [[ $address =~ ^([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})$ ]] || return 1
    for part in "${BASH_REMATCH[@]:1}"; do ((10#$part < 256)) || return 1; done
    printf '%02x%02x%02x%02x\n' "$((10#${BASH_REMATCH[1]}))" "$((10#${BASH_REMATCH[2]}))" \
      "$((10#${BASH_REMATCH[3]}))" "$((10#${BASH_REMATCH[4]}))"
    return 0
  fi
  [[ $address =~ ^[0-9a-fA-F:]+$ && $address != *:::* && $address != *::*::* ]] || return 1
  IFS=: read -r -a left <<<"${address%%::*}"
  if [[ $address == *::* ]]; then IFS=: read -r -a right <<<"${address#*::}"; fi
  missing=$((8 - ${#left[@]} - ${#right[@]}))
  if [[ $address == *::* ]]; then ((missing > 0)) || return 1; else ((missing == 0)) || return 1; fi
  while ((missing-- > 0)); do left+=(0); done
  for part in "${left[@]}" ${right[@]+"${right[@]}"}; do
    [[ $part =~ ^[0-9a-fA-F]{1,4}$ ]] || return 1
    printf '%04x' "$((16#$part))"
  done
  echo
}

# --- cleanup ---------------------------------------------------------------------------------------------------------

# konnectivity_take_down SECONDS PAUSE: objects and files. The files go also while the objects cannot: they hold keys.
# Leaves in konnectivity_error why it failed, in konnectivity_left what is still there (objects, perhaps files as well, or
# files alone), and in konnectivity_attempts how often it asked.
konnectivity_take_down() {
  local result=0 until
  # The certificates say how long there is something to remove, and they go with the files.
  until=$(konnectivity_certificates_end) || until=
  if [[ -n $until ]]; then konnectivity_until=$until; fi
  konnectivity_left=objects
  if konnectivity_delete_objects "$@"; then konnectivity_left=; else result=1; fi
  konnectivity_remove_files || result=1
  return "$result"
}

konnectivity_error=
konnectivity_left=
konnectivity_attempts=0
konnectivity_until=

# A reason is printed when it is another than the last one, so that hours without an answer do not fill the journal.
konnectivity_delete_objects() {
  local give_up=$((SECONDS + $1)) pause=$2 answer said=
  konnectivity_attempts=0
  until answer=$(konnectivity_delete daemonset/konnectivity-agent secret/konnectivity-agent-certs 2>&1) &&
    answer=$(konnectivity_delete "namespace/$KONNECTIVITY_NAMESPACE" 2>&1); do
    konnectivity_attempts=$((konnectivity_attempts + 1))
    konnectivity_error=$(konnectivity_last_line "${answer:-oc did not end within 20 s}")
    if [[ $konnectivity_error != "$said" ]]; then
      said=$konnectivity_error
      konnectivity_say "the agents' objects cannot be removed yet: $said"
    fi
    if ((SECONDS >= give_up)); then
      konnectivity_say "warning: the agents could not be removed within $1 s: $said"
      return 1
    fi
    if [[ $konnectivity_is_unit == true ]]; then konnectivity_write_state pending 1; fi
    sleep "$pause"
  done
  konnectivity_attempts=$((konnectivity_attempts + 1))
  if [[ -n $answer ]]; then konnectivity_say "$answer"; fi
}

# Nothing here waits for finalizers, which may need webhooks that cannot be reached at this moment.
konnectivity_delete() {
  timeout 20 oc delete "$@" --namespace="$KONNECTIVITY_NAMESPACE" --kubeconfig="$KONNECTIVITY_ASSETS/auth/kubeconfig" \
    --ignore-not-found=true --wait=false --request-timeout=10s
}

# The Secret's manifest holds the agents' key.
konnectivity_remove_files() {
  rm -rf -- "$KONNECTIVITY_KUBERNETES/manifests/konnectivity-server-pod.yaml" \
    "$KONNECTIVITY_KUBERNETES/manifests/.konnectivity-server-pod.yaml" \
    "$KONNECTIVITY_KUBERNETES/bootstrap-configs/konnectivity-server.socket" \
    "$KONNECTIVITY_KUBERNETES/bootstrap-configs/egress-selector-config.yaml" \
    "$KONNECTIVITY_ASSETS/manifests/konnectivity-agent-certs.yaml" \
    "$KONNECTIVITY_ASSETS/manifests/.konnectivity-agent-certs.yaml" \
    "$KONNECTIVITY_TLS_DIR" && return 0
  local error="some of the bridge's files could not be removed; $KONNECTIVITY_TLS_DIR holds keys"
  konnectivity_say "warning: $error"
  if [[ -z $konnectivity_left ]]; then
    konnectivity_left=files
    konnectivity_error=$error
  fi
  return 1
}

konnectivity_last_line() {
  local line last=
  while IFS= read -r line; do if [[ -n $line ]]; then last=$line; fi; done <<<"$1"
  last=${last//[^[:print:]]/ }
  echo "${last:0:300}"
}

# --- a cleanup that outlasts bootkube.sh --------------------------------------------------------------------------------

konnectivity_is_unit=false

# Without the unit the stage fails, as the installer's own does: bootkube.sh is started again and tries again.
konnectivity_hand_over() {
  konnectivity_write_state pending "$konnectivity_attempts"
  systemctl enable --now --no-block "$KONNECTIVITY_UNIT" ||
    konnectivity_fail "$KONNECTIVITY_UNIT could not be started to go on with the clean-up, so bootkube tries again; or remove the objects with: oc delete namespace $KONNECTIVITY_NAMESPACE"
  konnectivity_say "$KONNECTIVITY_UNIT goes on with the clean-up; to do it from elsewhere: drawbridge bootstrap teardown --kubeconfig FILE, or oc delete namespace $KONNECTIVITY_NAMESPACE"
}

# What the unit runs. It ends with 1, and systemd starts it again, until nothing is left; with 3 when it gives up.
konnectivity_finish() {
  konnectivity_is_unit=true
  export SERVICE_NAME=${KONNECTIVITY_UNIT%.service}
  if [[ -f $KONNECTIVITY_RECORDS ]]; then
    # shellcheck source=/dev/null
    . "$KONNECTIVITY_RECORDS"
  fi
  konnectivity_record start konnectivity-cleanup
  if konnectivity_take_down "$KONNECTIVITY_RETRY_SECONDS" 15; then
    konnectivity_end_retries removed
    konnectivity_say "the agents' objects are removed"
    konnectivity_record success
    exit 0
  fi
  if konnectivity_is_over; then
    konnectivity_end_retries given-up
    konnectivity_say "gave up: the certificates of the bridge have ended and the API does not answer; when it does, remove what is left with: drawbridge bootstrap teardown --kubeconfig FILE, or oc delete namespace $KONNECTIVITY_NAMESPACE"
    exit 3
  fi
  konnectivity_write_state pending 1
  exit 1
}

# The certificates have ended and there is nothing to reach.
konnectivity_is_over() {
  local end
  end=$(jq -er '.until | fromdateiso8601' "$KONNECTIVITY_STATE" 2>/dev/null) || return 1
  (($(date +%s) >= end)) || return 1
  ! timeout 20 oc get --raw=/version --kubeconfig="$KONNECTIVITY_ASSETS/auth/kubeconfig" --request-timeout=10s >/dev/null 2>&1
}

konnectivity_end_retries() {
  konnectivity_write_state "$1" 1
  systemctl disable "$KONNECTIVITY_UNIT" || konnectivity_say "warning: $KONNECTIVITY_UNIT could not be disabled"
}

# konnectivity_write_state STATE ATTEMPTS: adds to what is written already. A disk that is full does not end the attempts.
konnectivity_write_state() {
  local old now text beside=$KONNECTIVITY_STATE.new
  old=$(jq -ce 'objects' "$KONNECTIVITY_STATE" 2>/dev/null) || old='{}'
  now=$(date --utc +%Y-%m-%dT%H:%M:%SZ)
  if text=$(jq -n --argjson old "$old" --arg state "$1" --argjson attempts "$2" --arg now "$now" \
    --arg namespace "$KONNECTIVITY_NAMESPACE" --arg until "$konnectivity_until" --arg error "$konnectivity_error" \
    --arg left "$konnectivity_left" \
    '{version: 1, $state, $left, $namespace, since: ($old.since // $now),
      until: (if $until != "" then $until else ($old.until // ($now | fromdateiso8601 + 86400 | todateiso8601)) end),
      attempts: (($old.attempts // 0) + $attempts), lastAttemptAt: $now,
      lastError: (if $error != "" then $error else ($old.lastError // "") end)}') &&
    printf '%s\n' "$text" >"$beside" && mv -f -- "$beside" "$KONNECTIVITY_STATE"; then
    return 0
  fi
  konnectivity_say "warning: $KONNECTIVITY_STATE could not be written; make room on its disk"
}

konnectivity_certificates_end() {
  local end
  end=$(openssl x509 -in "$KONNECTIVITY_TLS_DIR/ca.crt" -noout -enddate 2>/dev/null) || return 1
  date --utc --date="${end#notAfter=}" +%Y-%m-%dT%H:%M:%SZ
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then konnectivity_finish; fi
