import type { IncomingHttpHeaders } from "node:http";

export const AGGREGATED_GROUP = "aggregated.lab.drawbridge.test";
export const AGGREGATED_VERSION = "v1alpha1";
const ROOT = `/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}`;

/** An API with one read-only kind. Each object says who asked and where the connection came from. */
export function answerAggregated(path: string, from: string, headers: IncomingHttpHeaders): object | undefined {
  const apiVersion = `${AGGREGATED_GROUP}/${AGGREGATED_VERSION}`;
  if (path === ROOT) {
    const resource = {
      name: "gauges",
      singularName: "gauge",
      namespaced: false,
      kind: "Gauge",
      verbs: ["get", "list"],
    };
    return { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources: [resource] };
  }
  const gauge = (name: string) => {
    const seen = { from, user: String(headers["x-remote-user"] ?? "") };
    return { apiVersion, kind: "Gauge", metadata: { name }, seen };
  };
  if (path === `${ROOT}/gauges`) return { apiVersion, kind: "GaugeList", metadata: {}, items: [gauge("first")] };
  if (path.startsWith(`${ROOT}/gauges/`)) return gauge(path.slice(`${ROOT}/gauges/`.length));
  return undefined;
}
