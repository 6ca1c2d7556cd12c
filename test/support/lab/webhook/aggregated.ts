import type { IncomingHttpHeaders } from "node:http";

export const AGGREGATED_GROUP = "aggregated.lab.drawbridge.test";
export const AGGREGATED_VERSION = "v1alpha1";
/** Any group of the lab's is answered, so that two workloads can serve one each. */
const PATH = /^\/apis\/([a-z]+\.lab\.drawbridge\.test\/v1alpha1)(\/gauges(?:\/(.+))?)?$/;

/** An API with one read-only kind. Each object says who asked and where the connection came from. */
export function answerAggregated(path: string, from: string, headers: IncomingHttpHeaders): object | undefined {
  const [found, apiVersion, isGauges, one] = PATH.exec(path) ?? [];
  if (found === undefined) return undefined;
  if (isGauges === undefined) {
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
  return one === undefined ? { apiVersion, kind: "GaugeList", metadata: {}, items: [gauge("first")] } : gauge(one);
}
