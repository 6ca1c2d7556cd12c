/** The one description of a hosted control plane's tunnel: every object, flag and patch on both sides is derived from it. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { HostedOptions } from "../../../tunnel/pki/profiles.js";
import type { HostedConfig, HostedPlatform, Publishing } from "../config/config.js";
import { hostedImages } from "./images.js";
import { names } from "./names.js";

export interface DialAddress {
  readonly host: string;
  readonly port: number;
}

export type HostedModel = ReturnType<typeof hostedModel>;

/** `version` is drawbridge's own; `host` is the one that the cluster assigned, where the config has none. */
export function hostedModel(config: HostedConfig, { version, host }: { version: string; host?: string | undefined }) {
  const { controlPlaneNamespace: namespace, image, ...rest } = config;
  const { aggregatedApis, publishing, replicas, signers } = rest;
  const isShared = signers === "shared";
  const endpoint: DialAddress = { host: publishing.host ?? host ?? unknownHost(publishing), port: publishing.port };
  return {
    ...rest,
    /** The namespace of the control plane in the management cluster. */
    namespace,
    images: hostedImages(image, version),
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
  if (platform === undefined) return [];
  const metadata = "169.254.169.254";
  if (platform.type === "Azure") return [metadata, ...(platform.cloud === "AzurePublicCloud" ? [] : ["168.63.129.16"])];
  return [metadata, platform.region === "us-east-1" ? ".ec2.internal" : `.${platform.region}.compute.internal`];
}

/** Whether the pods of the cluster have IPv4 addresses only. */
export function isIpv4Only({ networks }: Pick<HostedModel, "networks">): boolean {
  return networks.service.length > 0 && networks.service.every((prefix) => isIP(prefix.split("/")[0] ?? "") === 4);
}
