/** What the hosted commands have in common: the description of a hosted control plane, and its two clusters. */

import type { HostedClusters } from "../../cluster/hosted/apply/clusters.js";
import { type HostedConfig, type Overrides, readHostedConfig } from "../../cluster/hosted/config/config.js";
import { inGroup, list, number, oneOf, text, type Values } from "../flags/flag.js";
import {
  type ClusterValues,
  clusterFlags,
  hostedCluster,
  kubeconfigOf,
  openCluster,
  secondClusterFlags,
} from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import type { Input } from "../framework/define.js";

/** The description, as a file and in parts. */
export const descriptionFlags = {
  config: text("File that describes the hosted control plane (docs/hosted.md). Flags win over it."),
  name: text("Name of the hosted cluster."),
  "control-plane-namespace": text("Namespace of the control plane in the management cluster. If empty, clusters-NAME."),
  publish: oneOf(["Route", "NodePort", "LoadBalancer"], "How agents of the hosted cluster reach the servers."),
  hostname: text("DNS name that agents of the hosted cluster dial."),
  address: text("IP address that agents of the hosted cluster dial, instead of --hostname."),
  port: number(0, "Port that agents of the hosted cluster dial. If 0, 443 of a Route, 8091 of a load balancer."),
  replicas: number(0, "How many kube-apiservers, and so servers, there are. If 0, 3."),
  ...inGroup("advanced", {
    "image-kind": oneOf(
      ["payload", "upstream", "drawbridge"],
      "Programs that run: the OpenShift payload's, upstream's, or drawbridge's (default).",
    ),
    "server-image": text("Pull spec of the servers' image. If empty, the image kind's own."),
    "agent-image": text("Pull spec of the agents' image. If empty, the image kind's own."),
    "sidecar-image": text("Pull spec of the image with the SOCKS5 and HTTPS proxies."),
    "aggregated-api": list("Address that the control plane itself serves; repeatable."),
    signers: oneOf(
      ["separate", "shared"],
      "Signers of the certificates: one for each role (default), or one for all as HyperShift has it.",
    ),
    "machine-network": list("Prefix of the hosted cluster's nodes; repeatable."),
    "service-network": list("Prefix of the hosted cluster's services; repeatable."),
    "cluster-network": list("Prefix of the hosted cluster's pods; repeatable."),
  }),
};

export type HostedFlags = Values<typeof descriptionFlags>;

/** The description and both clusters. */
export const hostedFlags = {
  ...descriptionFlags,
  ...clusterFlags("the management cluster", "the files of KUBECONFIG"),
  ...secondClusterFlags("hosted", "the hosted cluster", "only the management cluster is worked on"),
};

/** Reads file and flags; throws with every fault. */
export async function hostedConfig(flags: HostedFlags, { given }: Input): Promise<HostedConfig> {
  return readHostedConfig(flags.config, overridesOf(flags, given));
}

interface ClusterFlags extends ClusterValues {
  readonly hostedKubeconfig: string;
  readonly hostedContext: string;
}

export function requireKubeconfig({ kubeconfig }: Pick<ClusterFlags, "kubeconfig">): void {
  if (kubeconfigOf(kubeconfig) === "")
    throw refused("--kubeconfig of the management cluster is missing, and KUBECONFIG is empty");
}

export async function withClusters<T>(flags: ClusterFlags, use: (clusters: HostedClusters) => Promise<T>): Promise<T> {
  const limits = { qps: 50, burst: 100 };
  const second = hostedCluster(flags);
  const management = await openCluster(flags, limits);
  const hosted = second && (await openCluster(second, limits));
  try {
    return await use({ management, hosted });
  } finally {
    management.close();
    hosted?.close();
  }
}

function overridesOf(flags: HostedFlags, names: ReadonlySet<string>): Overrides {
  const given = <T>(name: string, value: T): T | undefined => (names.has(name) && value !== "" ? value : undefined);
  return present({
    name: given("name", flags.name),
    controlPlaneNamespace: given("control-plane-namespace", flags.controlPlaneNamespace),
    publishing: group({
      type: given("publish", flags.publish),
      hostname: given("hostname", flags.hostname),
      address: given("address", flags.address),
      port: given("port", flags.port),
    }),
    replicas: given("replicas", flags.replicas),
    image: group({
      kind: given("image-kind", flags.imageKind),
      server: given("server-image", flags.serverImage),
      agent: given("agent-image", flags.agentImage),
      sidecar: given("sidecar-image", flags.sidecarImage),
    }),
    aggregatedApis: given("aggregated-api", flags.aggregatedApi),
    signers: given("signers", flags.signers),
    networks: group({
      machine: given("machine-network", flags.machineNetwork),
      service: given("service-network", flags.serviceNetwork),
      cluster: given("cluster-network", flags.clusterNetwork),
    }),
  });
}

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function group(fields: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const some = present(fields);
  return Object.keys(some).length === 0 ? undefined : some;
}
