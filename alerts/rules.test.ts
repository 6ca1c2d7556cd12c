import { readFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { type Family, MetricsRegistry } from "../src/base/metrics/registry.js";
import { controllerMetrics } from "../src/cluster/nodes/controller/run.js";
import { approverMetrics } from "../src/cluster/nodes/csr/approver.js";
import { servingMetrics } from "../src/cluster/nodes/serving/metrics.js";
import { doctorMetrics } from "../src/insight/diagnosis/workers/watch.js";
import { agentMetrics } from "../src/insight/observe/metrics/agent-metrics.js";
import { type ServerReadings, serverMetrics } from "../src/insight/observe/metrics/server-metrics.js";
import { sidecarMetrics } from "../src/tunnel/sidecar/metrics.js";
import type { Sidecar } from "../src/tunnel/sidecar/sidecar.js";
import { metricsIn, readRules, readTestNames } from "./rules.js";

const { alerts, recordings } = readRules();

/** Every name that a role registers. What the gauges would read is never asked for. */
function exported(): Set<string> {
  const families: Family[] = [];
  const register = vi.spyOn(MetricsRegistry.prototype, "register").mockImplementation((family) => {
    families.push(family);
    return family;
  });
  const never = () => {
    throw new Error("nobody scrapes");
  };
  const source = {};
  serverMetrics(source, { paths: never } as unknown as ServerReadings).end();
  agentMetrics(source, {} as Parameters<typeof agentMetrics>[1]).end();
  sidecarMetrics({} as Sidecar).end();
  approverMetrics(never, never);
  controllerMetrics(never);
  servingMetrics(never);
  doctorMetrics();
  register.mockRestore();
  return new Set(families.flatMap(({ name, type }) => (type === "histogram" ? histogram(name) : [name])));
}

const histogram = (name: string): string[] => ["_bucket", "_sum", "_count"].map((suffix) => name + suffix);

describe("alert rules", () => {
  test("use only metrics that we export, and series that they record", () => {
    const known = new Set([...exported(), ...recordings.map(({ record }) => record)]);
    expect(known.size).toBeGreaterThan(60);
    const used = [...alerts, ...recordings].flatMap(({ expr }) => metricsIn(expr));
    expect(used.length).toBeGreaterThan(alerts.length);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  test("watch every role", () => {
    const used = alerts.flatMap(({ expr }) => metricsIn(expr)).join(" ");
    const server = ["konnectivity_network_proxy_server_", "drawbridge_server_"];
    const agent = ["konnectivity_network_proxy_agent_", "drawbridge_agent_"];
    const others = ["drawbridge_sidecar_", "drawbridge_csr_", "drawbridge_nodepool_", "drawbridge_ignition_"];
    for (const prefix of [...server, ...agent, ...others]) expect(used).toContain(prefix);
  });

  test.each(alerts.map((rule) => [rule.alert, rule] as const))("%s is explained", (name, { labels, annotations }) => {
    expect(labels.severity).toMatch(/^(critical|warning)$/);
    expect(annotations.summary).toMatch(/^[A-Z][^{}]+[^.]$/);
    expect(annotations.description).toMatch(/\{\{ \$(labels|value)\b.*\.$/);
    expect(annotations.runbook_url).toBe(`docs/alerts.md#${name.toLowerCase()}`);
  });

  test("each has a section in docs/alerts.md, and no section is of an alert that is gone", () => {
    const page = readFileSync(new URL("../docs/alerts.md", import.meta.url), "utf8");
    const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, title]) => title);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });

  test("promtool sees each of them fire", () => {
    const firing = new Set(readTestNames().map((name) => name.split(":")[0]));
    expect(alerts.map(({ alert }) => alert).filter((alert) => !firing.has(alert))).toEqual([]);
  });
});

describe("metricsIn", () => {
  test.each([
    ['sum without (a, b) (rate(x_total{c="d_total"}[5m])) > 0', ["x_total"]],
    ["histogram_quantile(0.99, rate(y_bucket[10m])) > 2.5", ["y_bucket"]],
    ["p:q unless p:q offset 1h and on (job) z", ["p:q", "z"]],
    ["avg(typo_total)", ["avg", "typo_total"]],
  ])("%s", (expr, names) => {
    expect(metricsIn(expr)).toEqual(names);
  });
});
