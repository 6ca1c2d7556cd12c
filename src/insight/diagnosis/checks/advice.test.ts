/**
 * Where agents of the control plane claim the aggregated APIs' addresses and workers' agents take the rest
 * (--proxy-strategies=destHost,defaultRoute), some advice would do harm: a server without destHost, or with the strategy
 * default, sends the aggregated APIs' calls to workers or workers' to the control plane, and so does a worker that claims a
 * host. Nothing that drawbridge says of such servers may ask for that.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { remedies } from "../../../base/errors/catalogue.js";
import { TestBundle } from "../testing/bundle.js";
import { context, findingsOf } from "../testing/context.js";
import { admin, processInfo } from "../testing/overview.js";
import { judgeStrategies, strategies } from "./admin.js";
import { running } from "./programs.js";

const STRATEGIES = "--proxy-strategies=destHost,defaultRoute";

const harmful: readonly RegExp[] = [
  // Whatever the strategies are changed to, it is not needed: these serve both kinds of destinations.
  /--proxy-strategies/,
  /\b(remove|without|drop|leave out) destHost/,
  /\bdefault (first|last)\b/,
  // Of any agent, workers' included.
  /(^|, or )(Give|give) (an agent|agents) (--agent-identifiers \(|host=)/,
];

async function readyz(body: string): Promise<number> {
  const server = createServer((_, response) => response.writeHead(500).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function health(body: string, ...flags: readonly string[]): Promise<string[]> {
  const server = ["proxy-server", `--health-port=${await readyz(body)}`, STRATEGIES, ...flags];
  return (await findingsOf(running, context({}, { server }))).map(({ remedy }) => remedy);
}

const lacking = (strategy: string, rule: string) =>
  `2 agents are connected, but they lack the identifiers that the strategy ${strategy} looks for (--readiness=${rule})`;

const counted = (hosts: number, rest: number) => [
  { name: "destHost", agents: hosts },
  { name: "defaultRoute", agents: rest },
];

async function overview(hosts: number, rest: number, unreadyReason?: string): Promise<string[]> {
  const process = { ...processInfo, strategyCounts: counted(hosts, rest), ...(unreadyReason && { unreadyReason }) };
  return (await findingsOf(strategies, context(admin({ process })))).map(({ remedy }) => remedy);
}

async function bundle(readiness?: string): Promise<string[]> {
  const files = new TestBundle();
  onTestFinished(() => files.remove());
  const metric = "konnectivity_network_proxy_server_ready_backends";
  files
    .put("rendered-assets/openshift/konnectivity-server-pod.yaml", {
      kind: "Pod",
      metadata: { name: "konnectivity-server" },
      spec: { containers: [{ name: "konnectivity-server", command: ["proxy-server"], args: [STRATEGIES] }] },
    })
    .put(
      "bootstrap/metrics/server.txt",
      `${metric}{proxy_strategy="destHost"} 0\n${metric}{proxy_strategy="defaultRoute"} 3\n`,
    );
  if (readiness !== undefined) files.put("bootstrap/health/readyz.txt", readiness);
  const { findings, observations } = await files.analyze();
  return [
    ...findings.filter(({ check }) => check === "never-ready").map(({ remedy }) => remedy),
    ...observations,
  ].filter((text) => /readyz|readiness/.test(text));
}

const advices: readonly (readonly [situation: string, ask: () => Promise<string[]>])[] = [
  ["health: upstream's server is not ready", () => health("no connection to any proxy agent")],
  ["health: no agent of the first strategy", () => health(lacking("destHost", "agents"))],
  ["health: no agent of one of all strategies", () => health(lacking("defaultRoute", "all"), "--readiness=all")],
  ["health: no agent whose path is known", () => health(lacking("destHost", "path"), "--readiness=path")],
  ["strategies: agents of none", () => overview(0, 0)],
  ["strategies: agents of the control plane alone", () => overview(1, 0)],
  ["strategies: not ready by --readiness=all", () => overview(0, 1, lacking("destHost", "all"))],
  ["strategies of a hosted control plane's server", async () => [judgeStrategies(counted(1, 0)).remedy ?? ""]],
  ["a bundle whose server is not ready", () => bundle("500\nno connection to any proxy agent\n")],
  ["a bundle that does not say whether its server is ready", () => bundle()],
  ["errors about agents and what they claim", async () => [remedies.DB_NO_AGENT, remedies.DB_AGENT_CLAIM]],
];

test.each(advices)("%s: the advice keeps aggregated APIs' calls with the control plane's agents", async (_, ask) => {
  const said = await ask();
  expect(said).not.toEqual([]);
  for (const remedy of said) {
    expect(remedy).not.toBe("");
    for (const pattern of harmful) expect(remedy).not.toMatch(pattern);
  }
});

test("no remedy of the error catalogue asks for other strategies", () => {
  expect(Object.values(remedies).filter((remedy) => harmful.some((pattern) => pattern.test(remedy)))).toEqual([]);
});
