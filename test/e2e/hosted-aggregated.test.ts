/**
 * A hosted control plane: one server with agents on both sides. What the control-plane agent claims goes to it and to
 * nobody else; everything else goes to the data plane. A real kube-apiserver asks, the targets say who called.
 *
 *   bs         192.168.66.10   kube-apiserver, proxy-server; no route into any 10.128 network
 *   n1, n2     192.168.66.11, .12   the data plane's nodes, with pods in 10.128.1.0/24 and 10.128.2.0/24
 *   mgmt (n3)  192.168.66.13   the management cluster; its 10.128.3.10 and .11 are the aggregated API servers' addresses
 *
 * All nodes have routes to each other, so a data-plane agent could reach the control plane's addresses if it were asked.
 */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlPlane, makeControlPlane } from "../support/lab/control-plane.js";
import { controlPlaneExecutables, equipped } from "../support/lab/equipment.js";
import { connectOverTcp, writeEgressConfig } from "../support/lab/frontends.js";
import { HostedPki } from "../support/lab/hosted-pki.js";
import { BOOTSTRAP, Hosts } from "../support/lab/hosts.js";
import { metric } from "../support/lab/metrics.js";
import * as objects from "../support/lab/objects.js";
import { AGENT_METRIC, ProxyAgent } from "../support/lab/proxy-agent.js";
import { ProxyServer } from "../support/lab/proxy-server.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";
import { AGGREGATED_GROUP, AGGREGATED_VERSION } from "../support/lab/webhook/aggregated.js";
import { WEBHOOK_PORT, Webhook } from "../support/lab/webhook-process.js";
import { executable } from "../support/processes/executables.js";

const DATA_PLANE = { n1: "192.168.66.11", n2: "192.168.66.12", webhook: "10.128.1.10", onN2: "10.128.2.20" } as const;
/** A and B of `--agent-identifiers ipv4=A&ipv4=B`. */
const [A, B] = ["10.128.3.10", "10.128.3.11"];
/** As targets see the agents: each from the side of it that faces them. */
const PLANE_AGENT = "10.128.3.1";
const GAUGES = `/apis/${AGGREGATED_GROUP}/${AGGREGATED_VERSION}/gauges`;
const DIALS = `${AGENT_METRIC}_dial_duration_seconds_count`;

const PORTS = { frontend: 8090, agents: 8091, health: 8092, admin: 8095 };
const OTHER_PORTS = { frontend: 8190, agents: 8191, health: 8192, admin: 8195 };
const STRATEGIES = "--proxy-strategies=destHost,destCIDR,defaultRoute";

const signer = (name: string) => `CN=${name},OU=kubernetes`;
const claims = {
  rules: [
    {
      match: { issuer: signer("konnectivity-control-plane-agent-signer") },
      mayClaim: [`ipv4=${A}`, `ipv4=${B}`],
      exclusive: true,
    },
    {
      match: { issuer: signer("konnectivity-agent-signer") },
      mayClaim: ["default-route", "cidr=10.128.2.0/24"],
    },
  ],
};

const ready = await equipped({ controlPlane: true, namespaces: true });

describe.skipIf(!ready)("a server with agents on both sides", () => {
  let scope: Scope;
  let hosts: Hosts;
  let pki: HostedPki;
  let server: ProxyServer;
  let plane: ControlPlane;
  let agents: Record<"plane" | "n1" | "n2", ProxyAgent>;
  let targets: Record<"a" | "b" | "webhook" | "onN2" | "kubelet", Webhook>;
  let healthPorts = 8200;

  const agentOn = (node: number, name: string, set: HostedPki, pair: string, identifiers: string, port = 8091) =>
    new ProxyAgent(scope, {
      name,
      executable: executable("ours", "proxy-agent"),
      netns: hosts.nodes[node]!.namespace.name,
      caFile: set.serverCa,
      serverHost: BOOTSTRAP,
      serverPort: port,
      ports: { health: healthPorts++, admin: healthPorts++ },
      flags: [
        `--agent-cert=${set.pair(pair).cert}`,
        `--agent-key=${set.pair(pair).key}`,
        `--agent-identifiers=${identifiers}`,
        "--sync-interval=300ms",
        "--sync-interval-cap=1s",
      ],
    });

  /** The operator's recipe: what the server makes of an address, without any kube-apiserver. */
  const curl = async (url: string, set = pki, frontend = server.frontend) => {
    const client = set.pair("konnectivity-client");
    const proxy = ["--proxy", `https://${frontend.host}:${frontend.port}`, "--proxy-cacert", set.serverCa];
    const identity = ["--proxy-cert", client.cert, "--proxy-key", client.key];
    const options = ["-sS", "--max-time", "10", "--cacert", plane.ca.cert, "-w", "\n%{http_connect}"];
    const { code, stdout, stderr } = await run(["curl", ...options, ...proxy, ...identity, url], {
      netns: hosts.bs.name,
    });
    const end = stdout.lastIndexOf("\n");
    return { code, stderr, body: stdout.slice(0, end), connect: stdout.slice(end + 1) };
  };
  const callerSeenBy = async (host: string, set = pki, frontend = server.frontend): Promise<string> => {
    const { code, body, stderr } = await curl(`https://${host}:${WEBHOOK_PORT}${GAUGES}/first`, set, frontend);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(body).seen.from;
  };
  const dialsOf = async (agent: ProxyAgent) => metric(await agent.metrics(), DIALS);
  const gauge = async () => JSON.parse(await plane.admin.raw(`${GAUGES}/first`));

  beforeAll(async () => {
    scope = new Scope("aggregated");
    hosts = await Hosts.make(scope);
    const [n1, n2, mgmt] = [await hosts.addNode(), await hosts.addNode(), await hosts.addNode()];
    const [onN1, onN2] = [
      await hosts.addPod("wh", n1, DATA_PLANE.webhook),
      await hosts.addPod("ag", n2, DATA_PLANE.onN2),
    ];
    const inPlane = await hosts.addPod("agg", mgmt, A);
    await inPlane.run("ip", "addr", "add", `${B}/24`, "dev", "eth0");
    pki = await HostedPki.make(scope, "pki", BOOTSTRAP);
    writeFileSync(scope.file("claims.json"), JSON.stringify(claims));
    server = new ProxyServer(scope, {
      name: "proxy-server",
      executable: executable("ours", "proxy-server"),
      netns: hosts.bs.name,
      host: "127.0.0.1",
      ports: PORTS,
      certificates: pki.serverCertificates,
      flags: [`--cluster-ca-cert=${pki.agentsCa}`, STRATEGIES, `--agent-claims-file=${scope.file("claims.json")}`],
    });
    plane = await makeControlPlane(scope, {
      executables: controlPlaneExecutables(),
      netns: hosts.bs.name,
      host: BOOTSTRAP,
    });
    const egress = writeEgressConfig(scope.file("egress.json"), connectOverTcp, server.frontend);
    agents = {
      plane: agentOn(2, "agent-plane", pki, "konnectivity-control-plane-agent", `ipv4=${A}&ipv4=${B}`),
      n1: agentOn(0, "agent-n1", pki, "konnectivity-agent", "default-route=true"),
      n2: agentOn(1, "agent-n2", pki, "konnectivity-agent", "default-route=true&cidr=10.128.2.0/24"),
    };
    const target = (name: string, host: string, netns: string) => Webhook.start(scope, name, plane.ca, host, netns);
    await Promise.all([server.start(connectOverTcp), plane.apiServer.start(egress)]);
    const [a, b, webhook, pod, kubelet] = await Promise.all([
      target("aggregated", A, inPlane.name),
      target("second", B, inPlane.name),
      target(objects.SERVICE, DATA_PLANE.webhook, onN1.name),
      target("on-n2", DATA_PLANE.onN2, onN2.name),
      target("kubelet", DATA_PLANE.n1, n1.namespace.name),
      ...Object.values(agents).map((agent) => agent.start()),
    ] as const);
    targets = { a, b, webhook, onN2: pod, kubelet };
    await until("all agents to be connected", 60_000, async () => {
      return (await Promise.all(Object.values(agents).map((agent) => agent.isReady()))).every(Boolean);
    });
    await plane.admin.apply(objects.namespace);
  });
  afterAll(() => scope?.close());

  test("an aggregated API at the control plane's address is reached by the control-plane agent, and by nobody else", async () => {
    const others = [await dialsOf(agents.n1), await dialsOf(agents.n2)];
    const before = await dialsOf(agents.plane);
    await plane.admin.apply(...objects.serviceAt("aggregated", A), objects.aggregatedApi(plane.ca.cert, "aggregated"));
    const name = `apiservice/${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`;
    await plane.admin.run(["wait", "--for=condition=Available", "--timeout=60s", name]);
    for (let ask = 0; ask < 5; ask++) {
      expect(await gauge()).toMatchObject({ kind: "Gauge", seen: { user: "admin", from: PLANE_AGENT } });
    }
    expect(await dialsOf(agents.plane)).toBeGreaterThanOrEqual(before + 5);
    expect([await dialsOf(agents.n1), await dialsOf(agents.n2)]).toEqual(others);
    for (const { from } of targets.a.requests()) expect(from).toBe(PLANE_AGENT);
  });

  test("webhooks and kubelets are reached by the data plane's agents, never by the control plane's", async () => {
    await plane.admin.run(["delete", "apiservice", `${AGGREGATED_VERSION}.${AGGREGATED_GROUP}`]);
    await plane.admin.apply(
      ...[objects.service, objects.endpoints],
      objects.validatingWebhook("validate", "pod", objects.byService("/validate"), plane.ca.cert),
      ...objects.nodeWithPod("n1", DATA_PLANE.n1, WEBHOOK_PORT),
    );
    // The kube-apiserver may still be asking the aggregated API that was just removed.
    let before = -1;
    await until(
      "the control-plane agent to be at rest",
      20_000,
      async () => {
        const dials = await dialsOf(agents.plane);
        const isSame = dials === before;
        before = dials;
        return isSame;
      },
      1_000,
    );
    const create = (name: string, labels = {}) =>
      plane.admin.try(["create", "-f", "-"], JSON.stringify(objects.configMap(name, "pod", labels)));
    let tries = 0;
    await until("the webhook to be in force", 60_000, async () => {
      return (await create(`tried-${tries++}`, { [REFUSE_LABEL]: "yes" })).stderr.includes("refused by the lab");
    });
    for (let ask = 0; ask < 8; ask++) expect((await create(`made-${ask}`)).code).toBe(0);
    for (let ask = 0; ask < 4; ask++) {
      expect(await plane.admin.run(["logs", "-n", objects.NAMESPACE, "on-n1"])).toContain(
        "a line of the container's log",
      );
    }
    const callers = targets.webhook.requests("/validate").map(({ from }) => from);
    expect(callers.length).toBeGreaterThanOrEqual(9);
    // n1 calls its own pod from the pod network's side, n2 from the hosts'.
    expect(["10.128.1.1", DATA_PLANE.n2]).toEqual(expect.arrayContaining([...new Set(callers)]));
    const askers = new Set(targets.kubelet.requests().map(({ from }) => from));
    expect([DATA_PLANE.n1, DATA_PLANE.n2]).toEqual(expect.arrayContaining([...askers]));
    expect(await dialsOf(agents.plane)).toBe(before);
  });

  test("the operator's curl recipe shows each route: by host, by prefix, by default", async () => {
    expect([await callerSeenBy(A), await callerSeenBy(B)]).toEqual([PLANE_AGENT, PLANE_AGENT]);
    for (let ask = 0; ask < 6; ask++) expect(await callerSeenBy(DATA_PLANE.onN2)).toBe("10.128.2.1");
    // Chosen by lot: so often that one of the two is missed once in a million runs.
    const byDefault = await Promise.all(Array.from({ length: 21 }, () => callerSeenBy(DATA_PLANE.webhook)));
    expect(new Set(byDefault)).toEqual(new Set(["10.128.1.1", DATA_PLANE.n2]));
  });

  test("a worker that claims the control plane's address is refused, and gets none of its traffic", async () => {
    const rogue = agentOn(1, "agent-rogue", pki, "konnectivity-agent", `default-route=true&ipv4=${A}`);
    await rogue.start();
    await until("the server to have refused it", 60_000, () => {
      return server.log().includes(`this agent may not claim ipv4=${A}`);
    });
    expect(await rogue.isReady()).toBe(false);
    for (let ask = 0; ask < 6; ask++) expect(await callerSeenBy(A)).toBe(PLANE_AGENT);
    expect(await dialsOf(rogue)).toBe(0);
    await rogue.stop();
  });

  test("the control plane's addresses go to no worker while its agent is away", async () => {
    const before = [await dialsOf(agents.n1), await dialsOf(agents.n2)];
    await agents.plane.stop();
    await until(
      "the server to notice",
      30_000,
      async () => (await curl(`https://${A}:${WEBHOOK_PORT}/`)).connect === "500",
    );
    expect([await dialsOf(agents.n1), await dialsOf(agents.n2)]).toEqual(before);
    expect(await callerSeenBy(DATA_PLANE.onN2)).toBe("10.128.2.1");
    await agents.plane.start();
    await until("the control-plane agent to be back", 60_000, async () => {
      return (await curl(`https://${A}:${WEBHOOK_PORT}/`)).connect === "200";
    });
  });

  test("with one signer for all and no claim rules the same worker is admitted and attracts the control plane's traffic", async () => {
    const shared = await HostedPki.make(scope, "shared-pki", BOOTSTRAP, ["--shared-signer"]);
    const open = new ProxyServer(scope, {
      name: "proxy-server-open",
      executable: executable("ours", "proxy-server"),
      netns: hosts.bs.name,
      host: "127.0.0.1",
      ports: OTHER_PORTS,
      certificates: shared.serverCertificates,
      flags: [`--cluster-ca-cert=${shared.agentsCa}`, STRATEGIES],
    });
    await open.start(connectOverTcp);
    const both = [
      agentOn(2, "open-plane", shared, "konnectivity-agent", `ipv4=${A}&ipv4=${B}`, OTHER_PORTS.agents),
      agentOn(1, "open-rogue", shared, "konnectivity-agent", `default-route=true&ipv4=${A}`, OTHER_PORTS.agents),
    ];
    await Promise.all(both.map((agent) => agent.start()));
    await until("both to be connected", 60_000, async () => {
      return (await Promise.all(both.map((agent) => agent.isReady()))).every(Boolean);
    });
    const callers = await Promise.all(Array.from({ length: 24 }, () => callerSeenBy(A, shared, open.frontend)));
    expect(new Set(callers)).toEqual(new Set([PLANE_AGENT, DATA_PLANE.n2]));
  });
});
