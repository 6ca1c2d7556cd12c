/** What is reached without the customer's proxy. */
import { isIP } from "node:net";
import type { HostedModel } from "./model.js";

const always = ["127.0.0.1", "localhost", ".svc", ".cluster.local", ".hypershift.local"];

/** Sorted, each entry once. */
export function noProxy({ networks, proxy }: Pick<HostedModel, "networks" | "proxy">): string {
  const entries = [
    ...always,
    // That one would switch the proxy off altogether.
    ...networks.machine.filter((prefix) => prefix !== "0.0.0.0/0"),
    ...networks.service,
    ...networks.cluster,
    ...(proxy?.noProxy ?? []),
  ];
  return [...new Set(entries)].toSorted().join(",");
}

/** The pods of such a cluster have no other addresses. */
export function isIpv4Only({ networks }: Pick<HostedModel, "networks">): boolean {
  return networks.service.length > 0 && networks.service.every((prefix) => isIP(prefix.split("/")[0] ?? "") === 4);
}
