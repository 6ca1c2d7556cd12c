#!/usr/bin/env bash
# Plays the containers of a bootstrap host: the release image that names other images, the kube-apiserver's render, and
# cluster-bootstrap. All others succeed at once.
set -euo pipefail
words=" $* "
case $words in
  *" image "*)
    name=${*: -1}
    # A payload from before the tunnel's programs.
    if [[ $name == apiserver-network-proxy && -f /opt/openshift/test/no-image ]]; then exit 1; fi
    echo "quay.io/lab/$name@sha256:$(printf '%064d' 0)"
    ;;
  *"cluster-kube-apiserver-operator render"*)
    mkdir -p /opt/openshift/kube-apiserver-bootstrap
    overrides=()
    for word in "$@"; do
      if [[ $word == --config-override-files=/assets/* ]]; then overrides+=("/opt/openshift/${word#*=/assets/}"); fi
    done
    $LAB_RENDER ${overrides[@]+"${overrides[@]}"} >/opt/openshift/kube-apiserver-bootstrap/config
    ;;
  *" start --asset-dir=/assets"*)
    touch /opt/openshift/test/cluster-bootstrap-started
    until oc --kubeconfig=/opt/openshift/auth/kubeconfig get --raw /readyz >/dev/null 2>&1; do sleep 0.2; done
    # One object a file, created if absent, again and again until all are there.
    for _ in {1..50}; do
      left=0
      for file in /opt/openshift/manifests/konnectivity-*.yaml; do
        oc --kubeconfig=/opt/openshift/auth/kubeconfig get -f "$file" >/dev/null 2>&1 ||
          oc --kubeconfig=/opt/openshift/auth/kubeconfig create -f "$file" || left=1
      done
      if ((left == 0)); then break; fi
      sleep 0.2
    done
    touch /opt/openshift/test/cluster-bootstrap-created
    until [[ -f /opt/openshift/test/control-plane-ready ]]; do sleep 0.2; done
    ;;
esac
