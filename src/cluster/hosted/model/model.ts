/** The one description of a hosted control plane's tunnel: every object, flag and patch on both sides is derived from it. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { HostedOptions } from "../../../tunnel/pki/profiles.js";
import type { HostedConfig, HostedPlatform, Publishing } from "../config/config.js";
import { type HostedImages, hostedImages } from "./images.js";
import { names } from "./names.js";

export interface DialAddress {
  readonly host: string;
  readonly port: number;
}

export interface HostedModel extends Omit<HostedConfig, "image" | "controlPlaneNamespace"> {
  /** The namespace of the control plane in the management cluster. */
  readonly namespace: string;
  readonly images: HostedImages;
  /** Where agents of the hosted cluster dial. */
  readonly endpoint: DialAddress;
  /** Where agents of the control plane dial. */
  readonly localEndpoint: DialAddress;
  readonly controlPlaneAgents: {
    readonly replicas: number;
    /** The Secret with their certificate. */
    readonly secret: string;
  };
  /** What the server checks agents and callers against: ConfigMaps with ca.crt. */
  readonly bundles: { readonly agents: string; readonly clients: string };
}

export interface HostedModelOptions {
  /** The version of drawbridge. */
  readonly version: string;
  /** The host that the cluster assigned, where the config has none. */
  readonly host?: string | undefined;
}

export function hostedModel(config: HostedConfig, { version, host }: HostedModelOptions): HostedModel {
  const { controlPlaneNamespace: namespace, image, ...rest } = config;
  const isShared = config.signers === "shared";
  return {
    ...rest,
    namespace,
    images: hostedImages(image, version),
    endpoint: { host: config.publishing.host ?? host ?? unknownHost(config.publishing), port: config.publishing.port },
    localEndpoint: { host: names.server, port: 8091 },
    controlPlaneAgents: {
      // As many as HyperShift has: the second is for the first one's node.
      replicas: config.aggregatedApis.length === 0 ? 0 : Math.min(config.replicas, 2),
      secret: isShared ? names.agent : names.controlPlaneAgent,
    },
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
  if (platform === undefined) return [];
  const metadata = "169.254.169.254";
  if (platform.type === "Azure") return [metadata, ...(platform.cloud === "AzurePublicCloud" ? [] : ["168.63.129.16"])];
  return [metadata, platform.region === "us-east-1" ? ".ec2.internal" : `.${platform.region}.compute.internal`];
}

/** Whether the pods of the cluster have IPv4 addresses only. */
export function isIpv4Only({ networks }: Pick<HostedModel, "networks">): boolean {
  return networks.service.length > 0 && networks.service.every((prefix) => isIP(prefix.split("/")[0] ?? "") === 4);
}
