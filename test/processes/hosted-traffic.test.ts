/** The callers of the hosted cluster's lab (test/support/hosted-cluster/traffic/), which judge its roll-outs. */
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Backend, choose, membersOf } from "../support/hosted-cluster/traffic/backends.js";
import { Balancer } from "../support/hosted-cluster/traffic/balancer.js";
import { Caller } from "../support/hosted-cluster/traffic/caller.js";
import { type Call, type Line, parseLine } from "../support/hosted-cluster/traffic/calls.js";
import { LogReader } from "../support/hosted-cluster/traffic/log-reader.js";
import { reportText, Tally } from "../support/hosted-cluster/traffic/report.js";
import { requester } from "../support/hosted-cluster/traffic/requests.js";
import { waitUntil } from "../support/processes/deadline.js";
import { type FixturePki, makeFixturePki } from "./fixture/pki.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-traffic-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("choosing a kube-apiserver", () => {
  const backend = (name: string, isReady: boolean, open: number): Backend => ({ name, address: "", isReady, open });
  const [busy, idle, out] = [backend("busy", true, 3), backend("idle", true, 1), backend("out", false, 0)];

  test("the ready one with the fewest connections is taken, then another, and at last none", () => {
    expect(choose([busy, idle, out], new Set())).toBe(idle);
    expect(choose([busy, idle, out], new Set([idle]))).toBe(busy);
    expect(choose([busy, idle, out], new Set([idle, busy]))).toBeUndefined();
  });

  test("a pod is known while it is ready as a whole, and to its end if it was", () => {
    const pod = (name: string, isReady: boolean, isEnding: boolean) => ({
      name,
      address: "10.0.0.1",
      isReady,
      isEnding,
    });
    const pods = [pod("new", false, false), pod("able", true, false), pod("ending", false, true)];
    const names = (known: readonly string[]) => membersOf(pods, new Set(known)).map(({ name }) => name);
    expect(names([])).toEqual(["able"]);
    expect(names(["new", "able", "ending"])).toEqual(["able", "ending"]);
    expect(membersOf([{ ...pod("nowhere", true, false), address: "" }], new Set())).toEqual([]);
  });

  test("equals are taken by lot", () => {
    const equals = [backend("a", true, 2), backend("b", true, 2), busy];
    expect(choose(equals, new Set(), () => 0)?.name).toBe("a");
    expect(choose(equals, new Set(), () => 0.99)?.name).toBe("b");
  });
});

describe("counting calls", () => {
  const call = (kind: string, at: number, more: Partial<Call> = {}): Call => ({ kind, at, tookMs: 5, ...more });

  test("only those that began since the mark count, failed sessions on what was taken away apart", () => {
    const tally = new Tally();
    tally.mark(1_000);
    tally.take(call("write", 999, { said: "too early to count" }));
    tally.take(call("write", 1_000));
    tally.take(call("write", 3_500, { said: "refused", by: ["pod-a"] }));
    tally.take(call("exec", 1_500, { said: "cut", by: ["pod-a"], node: "w1" }));
    tally.take(call("exec", 1_600, { said: "cut, too", by: ["pod-b"], node: "w2", tookMs: 700 }));
    const report = tally.report(["pod-a"]);
    expect(report.write).toMatchObject({ served: 1, failed: [{ at: 3_500, said: "refused" }], apart: [] });
    expect(report.exec).toMatchObject({ failed: [{ said: "cut, too" }], apart: [{ said: "cut" }] });
    expect(tally.report(["w2"]).exec).toMatchObject({ failed: [{ said: "cut" }], apart: [{ said: "cut, too" }] });
    expect(reportText(report, 1_000)).toBe(
      [
        "calls  served  failed  apart  longest",
        "write  1       1       0      5 ms",
        "exec   0       1       1      700 ms",
        "write after 2.50 s by pod-a, 5 ms: refused",
        "exec after 0.60 s by pod-b, 700 ms: cut, too",
        "apart: exec after 0.50 s by pod-a, 5 ms: cut",
        "",
      ].join("\n"),
    );
  });

  test("a scene has all its calls once every source says that its oldest open one is younger", () => {
    const tally = new Tally();
    tally.take({ source: "write", oldest: 2_000 });
    expect(tally.hasAll(["write", "exec"], 1_500)).toBe(false);
    tally.take({ source: "exec", oldest: 1_400 });
    expect(tally.hasAll(["write", "exec"], 1_500)).toBe(false);
    tally.take({ source: "exec", oldest: 1_500 });
    expect(tally.hasAll(["write", "exec"], 1_500)).toBe(true);
  });

  test("a log is read line by line as it grows, other lines between", () => {
    const file = join(folder, "log");
    const seen: (Line | undefined)[] = [];
    const reader = new LogReader(file);
    const read = () => reader.read((text) => seen.push(parseLine(text)));
    writeFileSync(file, `hello\n{"kind":"write","at":1,"tookMs":2,"said":"ü`);
    read();
    appendFileSync(file, `ber"}\n{"source":"write","oldest":3}\n`);
    read();
    read();
    expect(seen).toEqual([
      undefined,
      { kind: "write", at: 1, tookMs: 2, said: "über" },
      { source: "write", oldest: 3 },
    ]);
  });
});

describe("beginning calls", () => {
  afterEach(() => vi.useRealTimers());

  test("goes on at its rate while others are open, and those beyond the limit have failed", async () => {
    vi.useFakeTimers();
    const lines: Line[] = [];
    let finish = () => {};
    const open = new Promise<object>((resolve) => {
      finish = () => resolve({});
    });
    const options = { kind: "write", perSecond: 10, atMost: 3, call: () => open };
    const caller = new Caller(options, (line) => lines.push(line));
    expect(caller.oldest).toBeUndefined();
    const begins = Date.now();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(caller.oldest).toBe(begins + 100);
    expect(lines).toHaveLength(7);
    expect(lines[0]).toMatchObject({ at: begins + 400, said: "3 calls are open already" });
    caller.end();
    finish();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(lines.slice(7)).toMatchObject([{ tookMs: 900 }, { tookMs: 800 }, { tookMs: 700 }]);
    expect(caller.oldest).toBeUndefined();
  });
});

describe("the balancer", () => {
  const balancers: Balancer[] = [];
  const servers: Server[] = [];
  let pki: FixturePki;
  beforeAll(async () => {
    pki = await makeFixturePki(folder);
  });
  afterEach(() => {
    for (const balancer of balancers.splice(0)) balancer.end();
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  /** A kube-apiserver that can be made unready; `/slow` is answered when it is released, and `/refused` is refused. */
  async function start(address: string, port = 0) {
    const state = { isReady: true, asked: 0, release: () => {} };
    const files = { cert: readFileSync(pki.server.certFile), key: readFileSync(pki.server.keyFile) };
    const server = createServer(files, (request, response) => {
      if (request.url === "/readyz") return void response.writeHead(state.isReady ? 200 : 500).end();
      state.asked++;
      if (request.url === "/refused") return void response.writeHead(503).end('{"message":"not now"}');
      if (request.url === "/slow") state.release = () => response.end("{}");
      else response.end("{}");
    });
    servers.push(server);
    server.listen(port, address);
    await once(server, "listening");
    return { state, server, pod: { name: address, address }, port: (server.address() as AddressInfo).port };
  }

  async function twoPods() {
    const first = await start("127.0.0.1");
    const second = await start("127.0.0.2", first.port);
    const client = { cert: pki.client.certFile, key: pki.client.keyFile };
    const told: string[] = [];
    const balancer = new Balancer({ ca: pki.caFile, client, port: first.port }, (line) => told.push(line));
    balancers.push(balancer);
    balancer.follow([first.pod, second.pod]);
    const entrance = await balancer.listen();
    const ask = requester(entrance, pki.caFile, client);
    const get = (path: string) => ask({ method: "GET", path, status: 200 });
    await waitUntil("both to be ready", () => balancer.ready.length === 2);
    return { first, second, balancer, told, entrance, get };
  }

  test("spreads calls, each over a connection of its own, and says who failed one", async () => {
    const { first, second, balancer, get, entrance } = await twoPods();
    for (let count = 0; count < 40; count++) expect(await get("/")).toEqual({});
    expect(first.state.asked).toBeGreaterThan(0);
    expect(second.state.asked).toBeGreaterThan(0);
    first.state.isReady = false;
    await waitUntil("the first to be out", () => balancer.ready.length === 1);
    expect(await get("/refused")).toEqual({ said: "503 not now", by: ["127.0.0.2"] });
    expect(entrance.taken.size).toBe(0);
  });

  test("gives none to a pod that is not ready any more, and the call that is open there ends well", async () => {
    const { first, second, balancer, get } = await twoPods();
    second.state.isReady = false;
    await waitUntil("the second to be out", () => balancer.ready.length === 1);
    const slow = get("/slow");
    await waitUntil("the call to arrive", () => first.state.asked === 1);
    first.state.isReady = false;
    second.state.isReady = true;
    await waitUntil("the other to be in", () => balancer.ready.join() === "127.0.0.2");
    const before = second.state.asked;
    for (let count = 0; count < 10; count++) expect(await get("/")).toEqual({});
    expect([first.state.asked, second.state.asked - before]).toEqual([1, 10]);
    first.state.release();
    expect(await slow).toEqual({});
  });

  test("tries another pod where one refuses the connection, and none where the pod is gone", async () => {
    const { first, second, balancer, told, get } = await twoPods();
    first.server.close().closeAllConnections();
    for (let count = 0; count < 20; count++) expect(await get("/")).toEqual({});
    await waitUntil("the first to be out", () => balancer.ready.join() === "127.0.0.2");
    expect(told).toContainEqual(expect.stringMatching(/^127\.0\.0\.1 is out/));
    balancer.follow([first.pod]);
    expect((await get("/")).said).toContain("ECONNRESET");
    expect(second.state.asked).toBe(20);
  });
});
