/** The one description of a hosted control plane's tunnel: every object, flag and patch on both sides is derived from it. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { HostedOptions } from "../../../tunnel/pki/profiles.js";
import type { HostedConfig, HostedPlatform, Publishing } from "../config/config.js";
import { hostedImages } from "./images.js";
import { names } from "./names.js";
import { profileOf } from "./profiles.js";

export interface DialAddress {
  readonly host: string;
  readonly port: number;
}

export type HostedModel = ReturnType<typeof hostedModel>;

/**
 * Where the server is in the kube-apiserver's pods. Among `initContainers` it is a native sidecar: the kube-apiserver starts
 * when the server says so, and the server ends when the kube-apiserver has ended.
 */
export type ServerPlace = "initContainers" | "containers";

/** How a server among `containers` pauses before it ends; `theirs`: as its container has it already, `none`: not at all. */
export type PreStop = "exec" | "theirs" | "none";

/** What follows from a management cluster as it is. */
export interface ManagementFacts {
  /** Ports of the kube-apiserver's pods that are not ours. */
  readonly apiServerPorts: readonly { readonly protocol: string; readonly port: number }[];
  /** How long the kube-apiserver takes requests after it was told to end; undefined: no flag of its Deployment says it. */
  readonly shutdownDelaySeconds: number | undefined;
  readonly serverPlace: ServerPlace;
  /** Undefined: the image's own way. */
  readonly preStop: PreStop | undefined;
}

export type EndpointKind = "EndpointSlice" | "Endpoints";

interface Surroundings {
  /** drawbridge's own. */
  readonly version: string;
  /** The one that the cluster assigned, where the config has none. */
  readonly host?: string | undefined;
  readonly facts?: ManagementFacts | undefined;
  /** What the hosted kube-apiserver finds aggregated APIs by; Endpoints before Kubernetes 1.33. */
  readonly endpointKind?: EndpointKind | undefined;
}

const DEFAULT_SECURE_PORT = 6443;

export function hostedModel(
  config: HostedConfig,
  { version, host, facts, endpointKind = "EndpointSlice" }: Surroundings,
) {
  const { controlPlaneNamespace: namespace, image, apiServerPort, nativeSidecar, ...rest } = config;
  const profile = profileOf(config.profile);
  const port = { protocol: "TCP", port: apiServerPort ?? DEFAULT_SECURE_PORT };
  const { aggregatedApis, publishing, replicas, signers } = rest;
  const isShared = signers === "shared";
  const known = publishing.host ?? host ?? (profile.keeper && "");
  const serverPlace: ServerPlace = facts?.serverPlace ?? (nativeSidecar ? "initContainers" : "containers");
  const endpoint: DialAddress = { host: known ?? unknownHost(publishing), port: publishing.port };
  return {
    ...rest,
    profile,
    ports: profile.ports,
    /** The namespace of the control plane in the management cluster. */
    namespace,
    images: hostedImages(image, version),
    endpointKind,
    /** What network policies leave open. */
    apiServerPorts: apiServerPort === undefined && facts?.apiServerPorts.length ? facts.apiServerPorts : [port],
    shutdownDelaySeconds: facts?.shutdownDelaySeconds,
    serverPlace,
    // Only upstream's image has no program that sleeps.
    preStop: facts?.preStop ?? (image.kind === "upstream" ? "none" : "exec"),
    /** Where agents of the hosted cluster dial. */
    endpoint,
    controlPlaneAgents: {
      // As many as HyperShift has: the second is for the first one's node.
      replicas: aggregatedApis.length === 0 ? 0 : Math.min(replicas, 2),
      /** The Secret with their certificate. */
      secret: isShared ? names.agent : names.controlPlaneAgent,
    },
    /** What the server checks agents and callers against: ConfigMaps with ca.crt. */
    bundles: isShared
      ? { agents: names.caBundle, clients: names.caBundle }
      : { agents: names.agentCaBundle, clients: names.clientCaBundle },
  };
}

/** The options of the certificates' profile. */
export function pkiOptions({ namespace, endpoint, signers, certificates }: HostedModel): HostedOptions {
  return {
    namespace,
    externalAddresses: [endpoint.host],
    sharedSigner: signers === "shared",
    validForMs: certificates.validDays * 24 * 60 * 60_000,
  };
}

function unknownHost({ type }: Publishing): never {
  throw new DrawbridgeError(
    "DB_HOSTED_ADDRESS",
    `The ${type} has no address yet that agents in the hosted cluster could dial.`,
  );
}

/** What is always reached without the customer's proxy. */
const always = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local"];

/** The value of NO_PROXY: sorted, each entry once. */
export function noProxy({ networks, platform, proxy }: Pick<HostedModel, "networks" | "platform" | "proxy">): string {
  const entries = [
    ...always,
    // That prefix would switch the proxy off altogether.
    ...networks.machine.filter((prefix) => prefix !== "0.0.0.0/0"),
    ...networks.service,
    ...networks.cluster,
    ...cloudEntries(platform),
    ...(proxy?.noProxy ?? []),
  ];
  return [...new Set(entries)].toSorted().join(",");
}

/** Metadata, the machines' own names, and outside Azure's public cloud its platform address. */
function cloudEntries(platform: HostedPlatform | undefined): string[] {
  if (platform === undefined || platform.type === "IBMCloud") return [];
  const metadata = "169.254.169.254";
  if (platform.type === "Azure") return [metadata, ...(platform.cloud === "AzurePublicCloud" ? [] : ["168.63.129.16"])];
  return [metadata, platform.region === "us-east-1" ? ".ec2.internal" : `.${platform.region}.compute.internal`];
}

/** Whether the pods of the cluster have IPv4 addresses only. */
export function isIpv4Only({ networks }: Pick<HostedModel, "networks">): boolean {
  return networks.service.length > 0 && networks.service.every((prefix) => isIP(prefix.split("/")[0] ?? "") === 4);
}
