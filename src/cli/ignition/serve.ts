/** `drawbridge ignition serve`: the server from which machines fetch their configuration. */

import { splitHostPort } from "../../base/address.js";
import type { Endpoint } from "../../base/http.js";
import { SERVING_CERTIFICATE_SECRET } from "../../cluster/nodes/objects.js";
import { claimRules, rightsText, servingRules } from "../../cluster/nodes/permissions.js";
import { filePath, inGroup, required, text, type Values } from "../flags/flag.js";
import { secondClusterFlags } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, type Environment, type Input } from "../framework/define.js";
import { objectFlags } from "../framework/objects.js";
import { adminAccessOf, adminFlags } from "../tunnel/process-flags.js";
import { runServing } from "./run-server.js";

const SERVING_CERTIFICATE = "/var/run/secrets/ignition/serving-cert";

/** Those that HyperShift's server has, too, are called and set as there. */
const serveFlags = (env: Environment) => ({
  ...objectFlags,
  ...adminFlags,
  addr: text("Address at which machines fetch their payloads, over HTTPS.", "0.0.0.0:9090"),
  ...inGroup("tls", {
    "cert-file": filePath("Serving certificate; a new one is taken up by itself.", `${SERVING_CERTIFICATE}/tls.crt`),
    "key-file": filePath("Key of --cert-file.", `${SERVING_CERTIFICATE}/tls.key`),
    "cert-secret": text(
      `Secret of the namespace with certificate and key, instead of files; ${SERVING_CERTIFICATE_SECRET} is the one of nodepool controller --issue-certificate.`,
    ),
  }),
  "metrics-addr": text("Address of /metrics, over HTTP.", "0.0.0.0:8080"),
  "admin-addr": text("Address of the admin API and the live page, 127.0.0.1:8095 say. If empty, there is none."),
  ...inGroup("kubernetes", {
    namespace: required(text("Namespace of the token Secrets; MY_NAMESPACE sets it, too.", env.MY_NAMESPACE), "whose?"),
  }),
  payload: required(text("File that says how payloads are made."), "which file?"),
  ...inGroup("advanced", {
    "worker-tokens": text("File with tokens of single workers, beside the Secrets that hold such."),
    "audit-log": filePath("File to which every fetch is appended as a line of JSON. If empty, fetches are logged."),
    "claims-file": filePath("File of an inventory directory that records claims, for csr approver --require-claim."),
    "claims-configmap": text("ConfigMap of an inventory in the cluster that records claims, as namespace/name."),
  }),
  ...secondClusterFlags("claims", "the cluster of --claims-configmap", "it is the cluster of the token Secrets"),
});

type ServeFlags = Values<ReturnType<typeof serveFlags>>;

export default defineCommand({
  purpose: `Serves Ignition payloads at https://ADDR/ignition to machines that bring a token of a pool or of their own, for pools
of clusters without HyperShift. It follows the token Secrets of its namespace, makes their payloads, rotates their tokens
and writes into them what came of it; several replicas may run. Until a payload is there machines get 511 and ask again.

The file of --payload:

  profile: rhcos                   # or kubelet
  machineConfig: rendered.yaml     # rhcos: the MachineConfig, beside this
  fips: false                      # rhcos
  sshKeys: [ssh-ed25519 AAAA...]   # of the user core
  bootstrapKubeconfig: bootstrap-kubeconfig  # Secret, key kubeconfig
  pullSecret: pull-secret          # Secret, key .dockerconfigjson
  trustBundle: user-ca-bundle      # ConfigMap, key ca-bundle.crt
  apiProxy:
    {server: "api.example:6443", image: registry.example/haproxy,
     address: 172.20.0.1, port: 6443}
  kubelet:                         # profile kubelet
    clusterDns: [10.96.0.10]
    clusterDomain: cluster.local
    runtime: containerd            # or crio
    cgroupDriver: systemd
    binary: /usr/local/bin/kubelet
    version: "1.27"                # the kubelet's, for the check of config
    config: {maxPods: 250}         # fields of KubeletConfiguration
    resolvConf: auto               # past systemd-resolved's stub, or a path
    nodeLabels: {example.com/team: blue}  # from the Node's first moment on,
                                   # beside the pool's spec.nodeLabels, taints
    taints: [{key: dedicated, value: "", effect: NoSchedule}]
    downloads:
    - {path: /usr/local/bin/kubelet, source: "https://...", hash: sha512-...}

The Secrets and the ConfigMap are of its namespace; the names shown are taken where the file has none. They must be those
that the pool's controller saw, or machines wait.

It needs, in its namespace: ${rightsText(servingRules)}; for
--claims-configmap, in that namespace: ${rightsText(claimRules("its"))}.`,
  examples: ["drawbridge ignition serve --namespace drawbridge --payload payload.yaml"],
  flags: serveFlags,
  config: checked,
  run: runServing,
});

export type ServeConfig = ReturnType<typeof checked>;

function checked(flags: ServeFlags, { given }: Input) {
  if (flags.certSecret !== "" && (given.has("cert-file") || given.has("key-file"))) {
    throw refused("--cert-secret excludes --cert-file and --key-file: the certificate is in one place");
  }
  adminAccessOf(flags);
  const { claimsConfigmap } = flags;
  const [, namespace = "", name = ""] = /^([^/\s]+)\/([^/\s]+)$/.exec(claimsConfigmap) ?? [];
  if (claimsConfigmap !== "" && name === "") throw refused("--claims-configmap must be namespace/name");
  return {
    flags,
    listen: endpoint("addr", flags.addr),
    metricsAt: endpoint("metrics-addr", flags.metricsAddr),
    /** Undefined: no admin port. */
    adminAt: flags.adminAddr === "" ? undefined : endpoint("admin-addr", flags.adminAddr),
    claimsConfigMap: name === "" ? undefined : { namespace, name },
  };
}

function endpoint(name: string, value: string): Endpoint {
  const split = splitHostPort(value);
  if ("error" in split) throw refused(`--${name} must be host:port: ${split.error}`);
  if (!/^\d{1,5}$/.test(split.port) || Number(split.port) > 65_535) {
    throw refused(`--${name} must end with a port from 0 to 65535, got ${value}`);
  }
  return { host: split.host, port: Number(split.port) };
}
