/** Flags that the hosted commands share: the description of a hosted control plane, and its two clusters. */

import { DrawbridgeError } from "../../base/errors/error.js";
import type { HostedClusters } from "../../cluster/hosted/apply/clusters.js";
import { type HostedConfig, type Overrides, readHostedConfig } from "../../cluster/hosted/config/config.js";
import { PROFILE_NAMES, profileOf } from "../../cluster/hosted/model/profiles.js";
import { filePath, inGroup, list, number, oneOf, propertyOf, text, type Values } from "../flags/flag.js";
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
  config: filePath("File that describes the hosted control plane (docs/hosted.md). Flags win over it."),
  name: text("Name of the hosted cluster."),
  profile: oneOf(PROFILE_NAMES, "Whose names, ports and wiring the control plane has (default hypershift)."),
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

/** For commands that need the management cluster. */
export async function withDescribedClusters<T>(
  flags: Values<typeof hostedFlags>,
  input: Input,
  use: (clusters: HostedClusters, config: HostedConfig) => Promise<T>,
): Promise<T> {
  if (kubeconfigOf(flags.kubeconfig) === "")
    throw refused("--kubeconfig of the management cluster is missing, and KUBECONFIG is empty");
  const config = await hostedConfig(flags, input);
  refuseKept(config);
  return withHostedClusters(flags, (clusters) => use(clusters, config));
}

/** An operator that makes the objects itself would set back what we change. */
function refuseKept({ profile }: HostedConfig): void {
  const { keeper } = profileOf(profile);
  if (keeper === undefined) return;
  throw new DrawbridgeError(
    "DB_HOSTED_CONFIG",
    `${keeper.project}'s operator makes these objects itself and sets back what others change; give its ${keeper.kind} the patch that drawbridge hosted render --profile ${profile} prints.`,
  );
}

export async function withHostedClusters<T>(
  flags: ClusterFlags,
  use: (clusters: HostedClusters) => Promise<T>,
): Promise<T> {
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

/** Path of each flag's value in the description. */
const OVERRIDES = {
  name: "name",
  profile: "profile",
  "control-plane-namespace": "controlPlaneNamespace",
  publish: "publishing.type",
  hostname: "publishing.hostname",
  address: "publishing.address",
  port: "publishing.port",
  replicas: "replicas",
  "image-kind": "image.kind",
  "server-image": "image.server",
  "agent-image": "image.agent",
  "sidecar-image": "image.sidecar",
  "aggregated-api": "aggregatedApis",
  signers: "signers",
  "machine-network": "networks.machine",
  "service-network": "networks.service",
  "cluster-network": "networks.cluster",
} as const satisfies Partial<Record<keyof typeof descriptionFlags, string>>;

/** The flags that were given, as a description. */
function overridesOf(flags: HostedFlags, given: ReadonlySet<string>): Overrides {
  const overrides: Record<string, unknown> = {};
  for (const [flag, path] of Object.entries(OVERRIDES)) {
    const value: unknown = flags[propertyOf(flag) as keyof HostedFlags];
    if (!given.has(flag) || value === "") continue;
    const [group, field] = path.split(".") as [string, string?];
    overrides[group] = field === undefined ? value : { ...(overrides[group] as object), [field]: value };
  }
  return overrides;
}
