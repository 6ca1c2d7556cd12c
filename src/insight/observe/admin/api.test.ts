import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Finding } from "../../../base/finding.js";
import type { RunningHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { listening, serverRefused } from "../../../tunnel/events/channels.js";
import { startAdmin } from "../admin.js";
import { keepServerRefusals } from "../refusals.js";
import type { ApiError, Dump, ExplainedRefusal, Overview, Page, Refusal, TunnelRow } from "./contract.js";
import { type Asking, ask as askPort } from "./testing/asker.js";
import { PlayedRole } from "./testing/role.js";

const TOKEN = "a-token";
let folder: string;
let role: PlayedRole;
let http: RunningHttp;

const ask = (path: string, asking: Asking = {}) =>
  askPort(http.port, `/drawbridge/v1/${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, ...asking });
const page = async <T>(path: string) => (await ask(path)).json<Page<T>>();
const ids = ({ items }: Page<TunnelRow>) => items.map(({ id }) => id);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-api-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  role = new PlayedRole();
  const options = { ...role.parts, tokenFile, profiling: false };
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
});
afterEach(async () => {
  await http.close();
  rmSync(folder, { recursive: true });
});

describe("the overview", () => {
  test("has the role, its start and its listeners", async () => {
    listening.publish({ source: role.source, what: "agents", address: "127.0.0.1:8091" });
    listening.publish({ source: {}, what: "another process's listener", address: "127.0.0.1:1" });
    const { process, listeners } = (await ask("")).json<Overview>();
    expect([process.host, process.pid]).toEqual([hostname(), globalThis.process.pid]);
    expect(process).toMatchObject({ apiVersion: 1, role: "server", version: "1.2.3", id: "s-1", ready: true });
    expect(process.instance).toMatch(/^[0-9a-f]{12}$/);
    expect(process.now - process.startedAt).toBeGreaterThan(0);
    expect(listeners).toEqual([{ what: "agents", address: "127.0.0.1:8091" }]);
  });

  test("is JSON in which browsers find no page and terminals no control sequence", async () => {
    role.addAgent(1, "<img src=x onerror=alert(1)>\u001b[31m\u009b31m\u202e");
    const answer = await ask("");
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(answer.body).not.toMatch(/[<\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
    expect(answer.json<Overview>().agents![0]!.id).toBe("<img src=x onerror=alert(1)>\u001b[31m\u009b31m\u202e");
  });
});

test("findings are the doctor's own judgement of what this process shows", async () => {
  const judged = async () =>
    Object.fromEntries((await page<Finding>("findings")).items.map(({ check, state }) => [check, state]));
  const ownChecks = ["agents-connected", "path", "certificates-in-use", "files-on-disk", "refusals", "refused-peers"];
  expect(Object.keys(await judged())).toEqual(ownChecks);
  expect(await judged()).toMatchObject({ "agents-connected": "failed", refusals: "ok" });
  role.addAgent(1, "node-1");
  expect(await judged()).toMatchObject({ "agents-connected": "ok" });
});

describe("tunnels", () => {
  test("are listed in pages by id while others open and close", async () => {
    for (const id of [5, 3, 9, 1, 7]) role.open(id);
    const first = await page<TunnelRow>("tunnels?limit=2");
    expect([ids(first), first.total, first.next]).toEqual([[1, 3], 5, 3]);
    role.list.delete(3);
    role.open(10);
    const second = await page<TunnelRow>(`tunnels?limit=3&after=${first.next}`);
    expect([ids(second), second.total, second.next]).toEqual([[5, 7, 9], 5, 9]);
    const third = await page<TunnelRow>(`tunnels?limit=3&after=${second.next}`);
    expect([ids(third), third.next]).toEqual([[10], undefined]);
  });

  test("are found by target, agent and state", async () => {
    for (let id = 1; id <= 30; id++) role.open(id, `web-${id}.example:443`);
    role.list.get(12)!.state = "half-closed";
    expect(ids(await page("tunnels?target=WEB-2"))).toEqual([2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    expect(ids(await page("tunnels?agent=2"))).toEqual([2, 12, 22]);
    expect(ids(await page("tunnels?agent=2&state=half-closed"))).toEqual([12]);
  });

  test.each(["limit=0", "limit=1001", "limit=x", "after=-1", "after=1e3", "state=asleep", "agent=one"])(
    "are not shown for %s",
    async (query) => {
      const answer = await ask(`tunnels?${query}`);
      expect([answer.status, answer.json<ApiError>().error.code]).toEqual([400, "malformed"]);
    },
  );

  test("can be fetched one by one, ended ones for a while", async () => {
    role.open(4);
    expect((await ask("tunnels/4")).json<TunnelRow>()).toMatchObject({
      id: 4,
      state: "open",
      marks: { answered: 2.5 },
    });
    expect((await ask("tunnels/5")).status).toBe(404);
    for (let id = 1; id <= 600; id++) role.end({ ...role.open(id), state: "closed", endReason: "the end" });
    const ended = await page<TunnelRow>("ended?limit=3");
    expect([ids(ended), ended.total, ended.next]).toEqual([[600, 599, 598], 500, 3]);
    expect(ids(await page("ended?limit=1&after=499"))).toEqual([101]);
    expect((await ask("ended/101")).json<TunnelRow>().endReason).toBe("the end");
    expect((await ask("ended/100")).status).toBe(404);
  });

  test("are closed on request", async () => {
    role.open(4);
    expect((await ask("tunnels/4/close", { method: "POST" })).json()).toEqual({ done: true });
    expect(role.closed).toEqual([4]);
    expect((await ask("tunnels/4/close", { method: "POST" })).status).toBe(404);
  });
});

test("an agent is drained on request, and a role that cannot drain answers 409", async () => {
  role.addAgent(3);
  expect((await ask("agents/3")).json()).toMatchObject({ key: 3, id: "agent-3" });
  expect((await ask("agents/3/drain", { method: "POST" })).status).toBe(200);
  expect((await ask("agents/4/drain", { method: "POST" })).status).toBe(404);
  expect(role.drained).toEqual([3, 4]);
  const answer = await ask("drain", { method: "POST" });
  expect([answer.status, answer.json<ApiError>().error.code]).toEqual([409, "not-possible"]);
});

describe("refusals", () => {
  const explanation = {
    ...{ address: "10.0.0.1:443", host: "10.0.0.1", agentsConnected: 2, considered: [] },
    strategies: [{ name: "default", keys: 2, matches: 0 }],
  };

  test("are listed newest first, each with its explanation", async () => {
    const end = keepServerRefusals(role.refusals, role.source);
    for (let count = 0; count < 300; count++) {
      serverRefused.publish({ source: role.source, referenceId: `r-${count}`, address: "10.0.0.1:443", explanation });
    }
    end();
    const list = await page<Refusal>("refusals?limit=1000");
    expect(list.items).toHaveLength(256);
    const why = "No agent of 2 takes this destination (matches by strategy: default: 0).";
    expect(list.items[0]).toEqual({ id: "r-299", at: expect.any(Number), target: "10.0.0.1:443", why });
    expect(list.items.at(-1)!.id).toBe("r-44");
    expect((await ask("refusals/r-299")).json<ExplainedRefusal>().explanation).toEqual(explanation);
    expect((await ask("refusals/r-43")).status).toBe(404);
  });

  test("keep no explanation that is too long", () => {
    role.refusals.add({ id: "big", target: "a".repeat(10_000), why: "b" }, { text: "x".repeat(1e6) });
    expect(JSON.stringify(role.refusals.find("big")).length).toBeLessThan(1_000);
  });

  test("show no secret that somebody put into a name", async () => {
    role.refusals.add({ id: "s", target: "Bearer abc.def", why: "eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0 is no target" });
    expect((await ask("refusals/s")).body).not.toMatch(/abc\.def|c2VjcmV0/);
  });
});

test.each([
  "nothing",
  "constructor",
  "agents/x",
  "refusals/a/b",
  "refusals/__proto__",
  "tunnels/1/2/3",
  "servers",
  "explain",
])("has no %j here", async (path) => {
  const answer = await ask(path);
  expect([answer.status, answer.json<ApiError>().error.code]).toEqual([404, "not-found"]);
});

test("the API answers 405 to methods that it does not have", async () => {
  for (const method of ["DELETE", "PUT", "PATCH"]) expect((await ask("agents", { method })).status).toBe(405);
  expect((await ask("agents", { method: "POST" })).headers.allow).toBe("GET, HEAD");
  expect((await ask("nothing", { method: "POST" })).status).toBe(404);
  expect(await ask("agents", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
});

describe("an admin API with 10,000 tunnels", () => {
  beforeEach(() => {
    for (let id = 1; id <= 10_000; id++) role.open(id);
    for (let key = 1; key <= 500; key++) role.addAgent(key);
  });

  test("sends the dump one portion per turn of the event loop", async () => {
    let dump: Dump | undefined;
    const most = await role.mostInOneTurn(async () => {
      const answer = await ask("dump");
      expect(answer.headers["content-disposition"]).toContain("attachment");
      dump = answer.json<Dump>();
    });
    expect(new Set(dump!.tunnels.map(({ id }) => id)).size).toBe(10_000);
    expect(dump).toMatchObject({ ended: [], refusals: [], process: { role: "server" } });
    expect(most).toBeLessThanOrEqual(200);
  });

  test("describes only the tunnels of the page that is asked for", async () => {
    const most = await role.mostInOneTurn(() => ask("tunnels?limit=1000&after=5000"));
    expect([most, role.described]).toEqual([1_000, 1_000]);
  });
});
