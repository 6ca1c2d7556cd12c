/** What an operator does to see whether the tunnel works: curl through the CONNECT frontend, over TCP with mTLS. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authority, type Pair } from "../support/lab/certificates.js";
import { AGENT_SOURCES, allReady, type Crossing, makeCrossing } from "../support/lab/cluster.js";
import { equipped } from "../support/lab/equipment.js";
import { connectOverTcp } from "../support/lab/frontends.js";
import { type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { address } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";
import { WEBHOOK_PORT, Webhook } from "../support/lab/webhook-process.js";

/** curl's exit codes. The last one also stands for a proxy that refused CONNECT. */
const CURL = { noConnection: 7, handshake: 35, sending: 55, receiving: 56 } as const;
const PATH = `/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}/gauges/first`;
const PAGE = `https://${address.wh}:${WEBHOOK_PORT}${PATH}`;

const ready = await equipped({ namespaces: true });

describe.skipIf(!ready)("curl through HTTPConnect over TCP with mTLS", () => {
  let scope: Scope;
  let crossing: Crossing;
  let podCa: Authority;
  let webhook: Webhook;

  beforeAll(async () => {
    scope = new Scope("curl");
    crossing = await makeCrossing(scope);
    podCa = new Authority(scope.folder, "pod-ca");
    webhook = await Webhook.start(scope, "webhook", podCa, address.wh, crossing.topology.wh);
    await crossing.server.start(connectOverTcp);
    await Promise.all(crossing.agents.map((agent) => agent.start()));
    await until("both agents to be connected", 60_000, () => allReady(crossing.agents));
  });
  afterAll(() => scope?.close());

  const curl = (url: string, ...options: readonly string[]): Promise<Outcome> => {
    const command = ["curl", "-sS", "--max-time", "10", "--cacert", podCa.cert, ...options, url];
    return run(command, { netns: crossing.topology.bs });
  };
  const through = (client?: Pair): string[] => {
    const { host, port, caFile } = crossing.server.frontend;
    const identity = client === undefined ? [] : ["--proxy-cert", client.cert, "--proxy-key", client.key];
    return ["-p", "-x", `https://${host}:${port}`, "--proxy-cacert", caFile, ...identity];
  };

  test("reaches a pod that cannot be reached directly", async () => {
    expect((await curl(PAGE)).code).toBe(CURL.noConnection);
    const { code, stdout, stderr } = await curl(PAGE, ...through(crossing.server.frontend.client));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(AGENT_SOURCES).toContain(JSON.parse(stdout).seen.from);
  });

  test("is refused without a client certificate, and with one from a stranger", async () => {
    const before = webhook.requests().length;
    const stranger = new Authority(scope.folder, "stranger-ca");
    const forged = stranger.issue({ file: "stranger", name: "kube-apiserver-egress", use: "client" });
    for (const client of [undefined, forged]) {
      const { code, stdout } = await curl(PAGE, "-w", "%{http_connect}", ...through(client));
      // It is told why in an answer that the proxy sends unasked.
      expect({ code, stdout }).toEqual({ code: CURL.receiving, stdout: "403" });
    }
    expect(webhook.requests()).toHaveLength(before);
  });

  test("hears why a dial failed", async () => {
    const closedPort = `https://${address.wh}:9/`;
    const answer = await curl(closedPort, "-w", "%{http_connect}", ...through(crossing.server.frontend.client));
    expect(answer).toMatchObject({ code: CURL.receiving, stdout: "502" });
    for (const agent of crossing.agents) await agent.stop();
    await until("the server to be without agents", 30_000, async () => {
      return (await crossing.server.health("/readyz")).status === 500;
    });
    const lonely = await curl(PAGE, "-w", "%{http_connect}", ...through(crossing.server.frontend.client));
    expect(lonely).toMatchObject({ code: CURL.receiving, stdout: "500" });
  });
});
