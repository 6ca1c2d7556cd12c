/** `drawbridge ignition serve`: the server from which machines fetch what they become. */
import type { KubeApi } from "../../cluster/kube/port.js";
import type { ClaimStore } from "../../cluster/nodes/serving/claims.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean } from "../flags/flag-value.js";
import { runRole } from "../framework/command.js";
import { usagePage } from "../framework/help.js";
import type { Environment } from "../framework/invocation.js";
import { MISUSE } from "../framework/subcommands.js";
import { version } from "../framework/version.js";
import { openObjects } from "../nodepool/flags.js";
import { adminAccessOf } from "../tunnel/admin-flags.js";
import { checkServeFlags, declareServeFlags, type ServeAddresses, type ServeFlags } from "./serve-flags.js";

const purpose = `Serves Ignition payloads at https://ADDR/ignition to machines that bring a token of a pool or of their own, for pools
of clusters without HyperShift. It follows the token Secrets of its namespace, makes their payloads, rotates their tokens
and writes into them what came of it; several replicas may run. Until a payload is there machines get 511 and ask again.

The file of --payload:

  profile: rhcos                   # or kubelet
  machineConfig: rendered.yaml     # rhcos: the rendered MachineConfig, beside this file
  fips: false                      # rhcos
  sshKeys: [ssh-ed25519 AAAA...]   # of the user core
  bootstrapKubeconfig: bootstrap-kubeconfig  # Secret, key kubeconfig
  pullSecret: pull-secret          # Secret, key .dockerconfigjson
  trustBundle: user-ca-bundle      # ConfigMap, key ca-bundle.crt
  apiProxy: {server: "api.example:6443", image: registry.example/haproxy, address: 172.20.0.1, port: 6443}
  kubelet:                         # profile kubelet
    clusterDns: [10.96.0.10]
    clusterDomain: cluster.local
    runtime: containerd            # or crio
    cgroupDriver: systemd
    binary: /usr/local/bin/kubelet
    downloads: [{path: /usr/local/bin/kubelet, source: "https://...", hash: sha512-...}]

The Secrets and the ConfigMap are of its namespace; the names shown are taken where the file has none. They must be those
that the pool's controller saw, or machines wait.

It needs, in its namespace: secrets get, list, watch, update, delete; configmaps get; events create; for
--claims-configmap, in that namespace: configmaps create, get, update.`;

export function ignitionServe(program: string, argv: readonly string[]): Promise<number> {
  const parse = (given: readonly string[], env: Environment) => {
    const set = new FlagSet();
    const help = set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" });
    const flags = declareServeFlags(set, env);
    const { positional, warnings } = set.parse(given);
    if (help.value) return { help: usagePage(program, purpose, set) };
    const addresses = checkServeFlags(flags, positional);
    return { config: { flags, addresses }, logging: { verbosity: 0, format: "text" }, warnings } as const;
  };
  return runRole({ parse, run: ({ flags, addresses }) => serve(flags, addresses) }, program, argv, { misuse: MISUSE });
}

async function serve(flags: ServeFlags, addresses: ServeAddresses): Promise<number> {
  const [{ runServing }, { payloadSource }] = await Promise.all([
    import("./run-server.js"),
    import("../../cluster/nodes/serving/payload.js"),
  ]);
  const namespace = flags.namespace.value;
  const api = await openObjects(flags);
  return runServing({
    ...{ api, namespace, listen: addresses.listen, metrics: addresses.metrics },
    admin: addresses.admin && { ...addresses.admin, ...adminAccessOf(flags), version: version() },
    inCluster: flags.directory.value === "",
    source: payloadSource(api, namespace, flags.payload.value),
    certificates:
      flags.certSecret.value === ""
        ? { certFile: flags.certFile.value, keyFile: flags.keyFile.value }
        : { secretName: flags.certSecret.value },
    auditLog: flags.auditLog.value,
    workerTokens: flags.workerTokens.value,
    claims: await claimStores(flags, addresses, api),
  });
}

async function openCluster(kubeconfig: string): Promise<KubeApi> {
  const { openKubeApi } = await import("../../cluster/kube/open.js");
  return openKubeApi({ kubeconfig, qps: 0, burst: 0 });
}

async function claimStores(
  flags: ServeFlags,
  { claimsConfigMap }: ServeAddresses,
  api: KubeApi,
): Promise<ClaimStore[]> {
  const { claimsInConfigMap, claimsInFile } = await import("../../cluster/nodes/serving/claims.js");
  const { claimsFile, claimsKubeconfig } = flags;
  const cluster = claimsKubeconfig.value === "" ? api : await openCluster(claimsKubeconfig.value);
  return [
    ...(claimsFile.value === "" ? [] : [claimsInFile(claimsFile.value)]),
    ...(claimsConfigMap === undefined ? [] : [claimsInConfigMap(cluster, claimsConfigMap)]),
  ];
}
