#!/usr/bin/env bash
# Makes the bridge's certificates with the host's own openssl: a signer for one day, a server certificate for the given
# addresses, one client certificate that all agents share.
#
#   certs.sh ADDRESS...
#
# KONNECTIVITY_TLS_DIR   where they go (default /opt/openshift/tls/konnectivity)
# KONNECTIVITY_KEY       rsa (2048 bits, default) or ec (P-256)
# KONNECTIVITY_HOURS     how long they live (default 24)
#
# The directory appears whole or not at all. A second run with the same addresses leaves good certificates alone; with
# other addresses it makes the whole set anew. bash 4.4, coreutils and openssl 1.1.1 suffice, and src/tunnel/pki makes the same.
set -o errexit -o nounset -o pipefail
umask 077

organization=openshift
backdate_seconds=7200 # agents whose clock is behind must accept a certificate made a moment ago

fail() {
  echo "konnectivity-certs: $*" >&2
  exit 1
}

is_ipv4() {
  local octet='(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
  [[ $1 =~ ^$octet\.$octet\.$octet\.$octet$ ]]
}

is_ipv6() {
  local address=$1 colons groups
  [[ $address =~ ^[0-9a-fA-F:]+$ && $address != *:::* && $address != *::*::* ]] || return 1
  [[ ! $address =~ [0-9a-fA-F]{5} && ! $address =~ (^:[^:]|[^:]:$) ]] || return 1
  # Between the groups that are written there are at most six colons beside a gap, and seven without one.
  groups=${address/::/:}
  groups=${groups#:}
  colons=${groups%:}
  colons=${colons//[^:]/}
  if [[ $address == *::* ]]; then ((${#colons} < 7)); else ((${#colons} == 7)); fi
}

quoted_list() {
  local list
  printf -v list '"%s", ' "$@"
  echo "[${list%, }]"
}

read_arguments() {
  (($# > 0)) || fail "no address given; call it with the bootstrap host's IP addresses, the one agents dial first"
  local address
  for address in "$@"; do
    [[ -n $address && $address != null ]] ||
      fail "the bootstrap host's address is missing (got \"$address\"); check its default route or name the address"
    is_ipv4 "$address" || is_ipv6 "$address" || fail "\"$address\" is not an IP address; names and ports do not belong here"
  done
  [[ $tls_dir == /* && $tls_dir != / ]] || fail "KONNECTIVITY_TLS_DIR must be an absolute path, got \"$tls_dir\""
  [[ $key_kind == rsa || $key_kind == ec ]] || fail "KONNECTIVITY_KEY must be rsa or ec, got \"$key_kind\""
  [[ $hours =~ ^[1-9][0-9]{0,3}$ ]] || fail "KONNECTIVITY_HOURS must be 1 to 9999, got \"$hours\""
  command -v openssl >/dev/null || fail "openssl is missing on this host; install it or make the certificates elsewhere"
}

# openssl's chatter is kept apart; the last of it belongs to the sentence when something fails.
ssl() {
  openssl "$@" 2>"$work/chatter" || fail "openssl $1 failed: $(tail -n 1 "$work/chatter")"
}

# Good for another third of their life, made for the same addresses and the same kind of key.
is_current() {
  local name
  for name in ca server agent; do
    openssl x509 -in "$tls_dir/$name.crt" -noout -checkend $((hours * 1200)) >/dev/null 2>&1 || return 1
  done
  [[ -f $tls_dir/server.key && -f $tls_dir/agent.key && -f $tls_dir/pki.json ]] || return 1
  grep -qxF "    \"ipAddresses\": $(quoted_list "$@")," "$tls_dir/pki.json" &&
    grep -qxF "    \"key\": \"$manifest_key\"," "$tls_dir/pki.json"
}

new_key() {
  if [[ $key_kind == rsa ]]; then
    ssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048
  else
    ssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:named_curve
  fi
}

# openssl ca is the only command that can back-date in 1.1.1; it wants a configuration and a database.
write_configuration() {
  local names leaf_usage=digitalSignature
  printf -v names ',IP:%s' "$@"
  # Only RSA keys can encipher another key.
  if [[ $key_kind == rsa ]]; then leaf_usage+=,keyEncipherment; fi
  : >"$work/database"
  cat >"$work/configuration" <<END
[ca]
default_ca = bridge
[bridge]
database = $work/database
new_certs_dir = $work
default_md = sha256
rand_serial = yes
unique_subject = no
email_in_dn = no
policy = names
[names]
organizationName = supplied
commonName = supplied
[req]
distinguished_name = subject
string_mask = utf8only
[subject]
[ca_certificate]
basicConstraints = critical,CA:TRUE,pathlen:0
keyUsage = critical,digitalSignature,keyCertSign,cRLSign
subjectKeyIdentifier = hash
[server_certificate]
basicConstraints = critical,CA:FALSE
keyUsage = critical,$leaf_usage
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
subjectAltName = ${names#,}
[agent_certificate]
basicConstraints = critical,CA:FALSE
keyUsage = critical,$leaf_usage
extendedKeyUsage = clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
END
}

# sign NAME COMMON_NAME KEY_FILE; the section of that name says what the certificate is good for. The signer's key is
# only ever in this shell's memory: the builtin echo hands it over through a pipe.
sign() {
  local name=$1 common_name=$2 key=$3 issuer=(-selfsign)
  if [[ $name != ca ]]; then issuer=(-cert "$made/ca.crt"); fi
  ssl req -new -config "$work/configuration" -key "$key" -subj "/O=$organization/CN=$common_name" -out "$work/$name.csr"
  ssl ca -batch -notext -config "$work/configuration" "${issuer[@]}" -keyfile <(echo "$signer_key") \
    -extensions "${name}_certificate" -startdate "$(at "$starts")" -enddate "$(at "$ends")" -in "$work/$name.csr" -out "$made/$name.crt"
}

# Seconds since 1970 as ASN.1 writes a time before 2050.
at() {
  date -u -d "@$1" +%y%m%d%H%M%SZ
}

iso() {
  date -u -d "@$1" +%Y-%m-%dT%H:%M:%S.000Z
}

# manifest_entry FIELDS COMMON_NAME: what every certificate of the set has in common.
manifest_entry() {
  echo "{$1, \"commonName\": \"$2\", \"organizations\": [\"$organization\"]," \
    "\"validForMs\": $lifetime_ms, \"notBefore\": \"$(iso "$starts")\", \"notAfter\": \"$(iso "$ends")\"}"
}

# The same file that src/tunnel/pki/manifest.ts writes and reads.
write_manifest() {
  local addresses
  addresses=$(quoted_list "$@")
  cat >"$made/pki.json" <<END
{
  "version": 1,
  "profile": "bootstrap",
  "madeAt": "$(iso "$now")",
  "signerKeysKept": false,
  "options": {
    "ipAddresses": $addresses,
    "key": "$manifest_key",
    "organization": "$organization",
    "validForMs": $lifetime_ms
  },
  "key": "$manifest_key",
  "keyFormat": "pkcs8",
  "backdateMs": ${backdate_seconds}000,
  "signers": [
    $(manifest_entry '"name": "ca", "organizationalUnits": []' konnectivity-signer)
  ],
  "leaves": [
    $(manifest_entry "\"name\": \"server\", \"signer\": \"ca\", \"use\": \"server\", \"dnsNames\": [], \"ipAddresses\": $addresses" konnectivity-server),
    $(manifest_entry '"name": "agent", "signer": "ca", "use": "client", "dnsNames": [], "ipAddresses": []' konnectivity-agent)
  ],
  "bundles": []
}
END
}

make_set() {
  local signer_key
  signer_key=$(new_key)
  new_key >"$made/server.key"
  new_key >"$made/agent.key"
  write_configuration "$@"
  sign ca konnectivity-signer <(echo "$signer_key")
  sign server konnectivity-server "$made/server.key"
  sign agent konnectivity-agent "$made/agent.key"
  write_manifest "$@"
}

# Beside its place first and complete on disk, so that no reader and no power cut sees half of it.
put_in_place() {
  sync -- "$made"/* "$made"
  if [[ -e $tls_dir ]]; then mv -T -- "$tls_dir" "$staging/before"; fi
  if ! mv -T -- "$made" "$tls_dir"; then
    if [[ -e $staging/before ]]; then mv -T -- "$staging/before" "$tls_dir"; fi
    fail "$tls_dir cannot be written; check that it is no mount point and that its file system has room"
  fi
  sync -- "$(dirname -- "$tls_dir")"
}

tls_dir=${KONNECTIVITY_TLS_DIR:-/opt/openshift/tls/konnectivity}
tls_dir=${tls_dir%/}
key_kind=${KONNECTIVITY_KEY:-rsa}
hours=${KONNECTIVITY_HOURS:-24}
read_arguments "$@"
if [[ $key_kind == rsa ]]; then manifest_key=rsa2048; else manifest_key=p256; fi

# What a run that was killed left beside the directory holds keys.
rm -rf -- "$tls_dir".new.*
if is_current "$@"; then
  echo "konnectivity-certs: $tls_dir already holds good certificates for $*"
  exit 0
fi

now=$(date +%s)
starts=$((now - backdate_seconds))
ends=$((now + hours * 3600))
lifetime_ms=$((hours * 3600))000

mkdir -p -- "$(dirname -- "$tls_dir")"
staging=$(mktemp -d -- "$tls_dir.new.XXXXXX")
trap 'rm -rf -- "$staging"' EXIT
made=$staging/made
work=$staging/work
mkdir -- "$made" "$work"
make_set "$@"
put_in_place
echo "konnectivity-certs: made certificates for $* in $tls_dir, good until $(iso "$ends")"
