/** The admin port of a real process of every role, asked the same things: who is let in, what is told, in which shape. */
import { readFileSync } from "node:fs";
import { request } from "node:https";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type {
  ApiError,
  ChangeEvent,
  Dump,
  ListenerInfo,
  Page,
  ProcessInfo,
  SnapshotEvent,
} from "../../src/insight/observe/admin/contract.js";
import { type Answer, type Asking, ask } from "../../src/insight/observe/admin/testing/asker.js";
import { AdminPort } from "../../src/insight/watch/admin-port.js";
import { type RoleProcesses, startRoles } from "../support/admin/processes.js";
import {
  faultsOf,
  listShapes,
  overviewShape,
  processShape,
  totalsShape,
  tunnelShape,
} from "../support/admin/shapes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { get } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";

const TOKEN = "only-for-this-test-0123456789";
const authorization = `Bearer ${TOKEN}`;
const API = "/drawbridge/v1/";
const EVERYWHERE = ["refusals", "certificates", "listeners"] as const;
const OF_TUNNELS = ["tunnels", "ended"] as const;
const LISTS = ["servers", "agents", ...OF_TUNNELS, ...EVERYWHERE] as const;

interface Row {
  readonly role: keyof RoleProcesses["ports"];
  /** The lists that this role has; others are not found. */
  readonly lists: readonly (typeof LISTS)[number][];
  readonly listeners: readonly string[];
  /** What only this role's /metrics has. */
  readonly metric: string;
}

const rows: readonly Row[] = [
  {
    role: "server",
    lists: ["agents", ...OF_TUNNELS, ...EVERYWHERE],
    listeners: ["http-connect frontend", "agents", "health", "admin"],
    metric: "konnectivity_network_proxy_server_established_connections",
  },
  {
    role: "agent",
    lists: ["servers", ...OF_TUNNELS, ...EVERYWHERE],
    listeners: ["health", "admin"],
    metric: "konnectivity_network_proxy_agent_open_server_connections",
  },
  {
    role: "sidecar",
    lists: ["servers", ...OF_TUNNELS, ...EVERYWHERE],
    listeners: ["http proxy", "health", "admin"],
    metric: "drawbridge_sidecar_client_connections",
  },
  {
    role: "ignition",
    lists: EVERYWHERE,
    listeners: ["machines", "metrics", "admin"],
    metric: "ign_server_payload_cache_total",
  },
];

const scope = new Scope();
let roles: RoleProcesses;
let echo: Target;

beforeAll(async () => {
  echo = scope.use(await startEcho());
  roles = await startRoles(scope, TOKEN);
});
afterAll(() => scope.close());

describe.each(rows)("the admin port of a running $role", ({ role, lists, listeners, metric }) => {
  const at = (path: string, asking: Asking = {}) => ask(roles.ports[role], path, asking);
  const request = (path: string, headers: Record<string, string> = {}) =>
    at(API + path, { headers: { authorization, ...headers } });
  const codeOf = (answer: Answer) => [answer.status, answer.json<ApiError>().error.code];
  const json = async <T>(path: string): Promise<T> => {
    const answer = await request(path);
    expect([path, answer.status, answer.headers["content-type"]]).toEqual([path, 200, "application/json"]);
    return answer.json<T>();
  };

  test("tells nothing without the token, and never repeats it", async () => {
    for (const path of ["", "process", "totals", ...LISTS, "explain", "flight", "dump", "events", "nothing"]) {
      for (const headers of [{}, { authorization: "Bearer wrong" }, { authorization: `Basic ${TOKEN}` }]) {
        const answer = await at(API + path, { headers: headers as Record<string, string> });
        expect([path, ...codeOf(answer)]).toEqual([path, 401, "unauthenticated"]);
      }
    }
    expect((await at(`${API}process?token=${TOKEN}`)).status).toBe(401);
    expect((await at(`${API}drain`, { method: "POST" })).status).toBe(401);
    expect((await request("dump")).body).not.toContain(TOKEN);
  });

  test("refuses another Host and another site, whatever they bring", async () => {
    expect(codeOf(await request("process", { host: "evil.example" }))).toEqual([403, "wrong-host"]);
    expect((await request("process", { host: `localhost:${roles.ports[role]}` })).status).toBe(200);
    const strangers = [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }];
    for (const headers of strangers as Record<string, string>[]) {
      const answer = await request("process", headers);
      expect(codeOf(answer)).toEqual([403, "cross-site"]);
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
      const post = await at(`${API}drain`, { method: "POST", headers: { authorization, ...headers } });
      expect(codeOf(post)).toEqual([403, "cross-site"]);
    }
  });

  test("opens a session for a page, and for nobody's guess", async () => {
    const logIn = (token: string) =>
      at(`${API}login`, {
        method: "POST",
        body: JSON.stringify({ token }),
        headers: { "content-type": "application/json" },
      });
    expect((await logIn("wrong")).status).toBe(401);
    const [cookie = ""] = (await logIn(TOKEN)).headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect((await at(`${API}process`, { headers: { cookie: cookie.split(";")[0]! } })).status).toBe(200);
    const page = await at("/");
    expect([page.status, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  });

  test("says what the contract has, and nothing that it has not", async () => {
    const overview = await json<{ process: ProcessInfo }>("");
    expect(faultsOf(overview, overviewShape)).toEqual([]);
    expect(overview.process).toMatchObject({ apiVersion: 1, role, ready: true, draining: false });
    expect(faultsOf(await json("process"), processShape)).toEqual([]);
    expect(faultsOf(await json("totals"), totalsShape)).toEqual([]);
    for (const list of LISTS) {
      if (lists.includes(list)) expect(faultsOf(await json(list), listShapes[list], list)).toEqual([]);
      else expect([list, ...codeOf(await request(list))]).toEqual([list, 404, "not-found"]);
    }
    const opened = (await json<Page<ListenerInfo>>("listeners")).items;
    expect(opened.map(({ what }) => what).sort()).toEqual([...listeners].sort());
    expect(opened.find(({ what }) => what === "admin")?.address).toBe(`127.0.0.1:${roles.ports[role]}`);
    const dump = await json<Dump>("dump");
    expect(faultsOf(dump, { ...overviewShape, tunnels: [tunnelShape], ended: [tunnelShape] }, "dump")).toEqual([]);
    expect(JSON.stringify(dump)).not.toMatch(/PRIVATE|BEGIN/);
  });

  test("shows its certificates, where it has any", async () => {
    const { items } = await json<Page<{ use: string; notAfterAt: number }>>("certificates");
    // The sidecar of this test reaches its server by a socket file.
    if (role === "sidecar") expect(items).toEqual([]);
    else
      expect(items.map(({ use }) => use)).toContain({ server: "agents", agent: "servers", ignition: "machines" }[role]);
    for (const { notAfterAt } of items) expect(notAfterAt).toBeGreaterThan(Date.now());
  });

  test("has events: all there is first, then what becomes different", async () => {
    const stop = new AbortController();
    const heard: { readonly name: string; readonly data: unknown }[] = [];
    const port = new AdminPort({ url: new URL(`http://127.0.0.1:${roles.ports[role]}`), token: TOKEN });
    const stream = port.follow(({ name, data }) => heard.push({ name, data: JSON.parse(data) }), stop.signal);
    onTestFinished(() => {
      stop.abort();
      return stream;
    });
    await waitUntil("the snapshot", () => heard.length > 0);
    expect(heard[0]?.name).toBe("snapshot");
    const { ended, ...overview } = heard[0]!.data as SnapshotEvent;
    expect(faultsOf(overview, overviewShape, "snapshot")).toEqual([]);
    expect(faultsOf(ended, [tunnelShape], "ended")).toEqual([]);

    const changes = () => heard.filter(({ name }) => name === "change").map(({ data }) => data as ChangeEvent);
    if (role === "ignition") {
      expect(await fetchWithout(roles)).toBe(401);
      const refusal = await waitUntil("the refusal", () => changes().flatMap(({ refusals = [] }) => refusals)[0]);
      expect(refusal).toMatchObject({ target: "clusters/workers", why: "Bad header", remote: "127.0.0.1" });
      await waitUntil("its count", () => changes().some(({ totals }) => totals.fetchesRefused === 1));
    } else {
      const socket: Socket = await roles.open(echo.address);
      const opened = await waitUntil("the tunnel", () =>
        changes()
          .flatMap(({ tunnels }) => tunnels?.changed ?? [])
          .find(({ target }) => target === echo.address),
      );
      expect(faultsOf(opened, tunnelShape, "tunnel")).toEqual([]);
      socket.destroy();
      await waitUntil("its end", () => changes().some(({ tunnels }) => tunnels?.gone.includes(opened.id)));
    }
    for (const { totals } of changes()) expect(faultsOf(totals, totalsShape, "totals")).toEqual([]);
  });

  test("has /metrics for everybody, as without a token file", async () => {
    const answer = await at("/metrics", { headers: { host: "prometheus.example" } });
    if (role === "agent") {
      // As upstream's: they are on the health port.
      expect([answer.status, answer.headers.location]).toEqual([
        ...[301, `//prometheus.example:${roles.tunnel.agents[0]!.healthPort}/metrics`],
      ]);
      expect((await get(roles.tunnel.agents[0]!.healthPort, "/metrics")).body).toContain(`\n${metric}`);
      return;
    }
    expect([answer.status, answer.headers["content-type"]]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; version=/),
    ]);
    expect(answer.body).toContain(`\n${metric}`);
    const names = (body: string) => [...body.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    if (role === "ignition") {
      expect(names(answer.body)).toEqual(names((await get(roles.ignitionMetricsPort, "/metrics")).body));
    }
  });
});

/** A machine that brings no token. */
function fetchWithout({ ignitionPort, tunnel }: RoleProcesses): Promise<number> {
  const ca = readFileSync(tunnel.pki.webhook.ca);
  const headers = { NodePool: "clusters/workers" };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port: ignitionPort, path: "/ignition", ca, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .once("error", reject)
      .end();
  });
}
