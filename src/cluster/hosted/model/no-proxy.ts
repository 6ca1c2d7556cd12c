/** What is reached without the customer's proxy. */
import { isIP } from "node:net";
import type { Platform } from "../config/config.js";
import type { HostedModel } from "./model.js";

const always = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local"];

/** Sorted, each entry once. */
export function noProxy({ networks, platform, proxy }: Pick<HostedModel, "networks" | "platform" | "proxy">): string {
  const entries = [
    ...always,
    // That one would switch the proxy off altogether.
    ...networks.machine.filter((prefix) => prefix !== "0.0.0.0/0"),
    ...networks.service,
    ...networks.cluster,
    ...cloudEntries(platform),
    ...(proxy?.noProxy ?? []),
  ];
  return [...new Set(entries)].toSorted().join(",");
}

/** Metadata, the machines' own names, and outside Azure's public cloud its platform address. */
function cloudEntries(platform: Platform | undefined): string[] {
  if (platform === undefined) return [];
  const metadata = "169.254.169.254";
  if (platform.type === "Azure") return [metadata, ...(platform.cloud === "AzurePublicCloud" ? [] : ["168.63.129.16"])];
  return [metadata, platform.region === "us-east-1" ? ".ec2.internal" : `.${platform.region}.compute.internal`];
}

/** The pods of such a cluster have no other addresses. */
export function isIpv4Only({ networks }: Pick<HostedModel, "networks">): boolean {
  return networks.service.length > 0 && networks.service.every((prefix) => isIP(prefix.split("/")[0] ?? "") === 4);
}
