import { once } from "node:events";
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import { afterEach, describe, expect, test } from "vitest";
import { firstAgentRoute, startAgentHealth, startServerHealth } from "./health.js";
import type { RunningHttp } from "./http.js";
import { MetricsRegistry } from "./metrics/registry.js";
import { ManualClock } from "./testing/manual-clock.js";

const anywhere = { host: "127.0.0.1", port: 0 };
const running: RunningHttp[] = [];
let ready = false;
const readiness = { ready: () => ready };

function registry(): MetricsRegistry {
  const made = new MetricsRegistry();
  made.gauge("depth", "How deep.", () => 7);
  return made;
}

async function started(pending: Promise<RunningHttp>): Promise<(path: string, init?: RequestInit) => Promise<string>> {
  const http = await pending;
  running.push(http);
  return async (path, init) => {
    const answer = await fetch(`http://127.0.0.1:${http.port}${path}`, init);
    return `${answer.status} ${answer.headers.get("content-type")} ${await answer.text()}`;
  };
}

afterEach(async () => {
  ready = false;
  await Promise.all(running.splice(0).map((http) => http.close()));
});

const TEXT = "text/plain; charset=utf-8";

describe("the server's health port", () => {
  test("answers as upstream does", async () => {
    const get = await started(startServerHealth(anywhere, readiness, registry()));
    expect(await get("/healthz")).toBe(`200 ${TEXT} ok`);
    expect(await get("/ready")).toBe(`500 ${TEXT} no connection to any proxy agent`);
    expect(await get("/readyz")).toBe(`500 ${TEXT} no connection to any proxy agent`);
    ready = true;
    expect(await get("/ready")).toBe(`200 ${TEXT} ok`);
    expect(await get("/readyz?verbose")).toBe(`200 ${TEXT} ok`);
    expect(await get("/healthz", { method: "POST", body: "ignored" })).toBe(`200 ${TEXT} ok`);
    expect(await get("/healthz", { method: "HEAD" })).toBe(`200 ${TEXT} `);
    expect(await get("/healthz/")).toBe(`404 ${TEXT} 404 page not found\n`);
    expect(await get("/metrics")).toBe(
      "200 text/plain; version=0.0.4; charset=utf-8 # HELP depth How deep.\n# TYPE depth gauge\ndepth 7\n",
    );
  });

  test("is ready but says so when there is no room for new connections", async () => {
    ready = true;
    const full = { ...readiness, but: () => "the agent listener is full" };
    const get = await started(startServerHealth(anywhere, full, registry()));
    expect(await get("/readyz")).toBe(`200 ${TEXT} ok, but the agent listener is full\n`);
    expect(await get("/healthz")).toBe(`200 ${TEXT} ok`);
  });

  test("answers somebody who waits to be told that he may send a body", async () => {
    await started(startServerHealth(anywhere, readiness, registry()));
    const socket = connect(running[0]!.port, "127.0.0.1");
    socket.write("POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(String(answer)).toMatch(/^HTTP\/1\.1 100 Continue\r\n/);
  });

  test("closes connections that ask for nothing when there are more than 256", async () => {
    const get = await started(startServerHealth(anywhere, readiness, registry()));
    const { port } = running[0]!;
    let closed = 0;
    const sockets = Array.from({ length: 300 }, () => connect(port, "127.0.0.1").resume());
    for (const socket of sockets) socket.on("error", () => {}).on("close", () => closed++);
    try {
      await expect.poll(() => closed, { timeout: 20_000 }).toBe(44);
      expect(await get("/healthz")).toBe(`200 ${TEXT} ok`);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test("does not tell the reason of its own failures", async () => {
    const broken = registry();
    broken.gauge("hidden", "Cannot be read.", () => {
      throw new Error("secret path");
    });
    const get = await started(startServerHealth(anywhere, readiness, broken));
    expect(await get("/metrics")).toBe(`500 ${TEXT} internal error\n`);
    expect(await get("/healthz")).toBe(`200 ${TEXT} ok`);
  });
});

describe("/readyz/first-agent", () => {
  const PATH = "/readyz/first-agent";
  const clock = new ManualClock();
  let draining = false;

  function startedNow(why?: string): Promise<(path: string) => Promise<string>> {
    draining = false;
    const asked = { ...readiness, why: () => why, draining: () => draining };
    const more = { [PATH]: firstAgentRoute(asked, clock) };
    return started(startServerHealth(anywhere, readiness, registry(), more));
  }

  test("is 500 until the server has been ready, and 200 from then on whatever becomes of its agents", async () => {
    const get = await startedNow();
    clock.advance(9_000);
    expect(await get(PATH)).toBe(
      `500 ${TEXT} no connection to any proxy agent; this path answers 200 once the server has been ready, at the latest in 21s\n`,
    );
    ready = true;
    expect(await get(PATH)).toBe(`200 ${TEXT} ok`);
    ready = false;
    expect(await get(PATH)).toBe(`200 ${TEXT} ok`);
    expect(await get("/readyz")).toBe(`500 ${TEXT} no connection to any proxy agent`);
  });

  test("is 200 without an agent 30 s after the start, so that the first nodes can join, and says what is missing", async () => {
    const get = await startedNow("1 agent is connected, but its path is not known to work");
    clock.advance(29_999);
    expect(await get(PATH)).toBe(
      `500 ${TEXT} 1 agent is connected, but its path is not known to work; this path answers 200 once the server has been ready, at the latest in 1s\n`,
    );
    clock.advance(1);
    expect(await get(PATH)).toBe(`200 ${TEXT} ok, but the server has not been ready since its start\n`);
    ready = true;
    expect(await get(PATH)).toBe(`200 ${TEXT} ok`);
  });

  test("waits for as many seconds as its caller says, which a kube-apiserver that has not started yet says", async () => {
    const get = await startedNow();
    clock.advance(14_000);
    expect(await get(`${PATH}?within=15s`)).toContain("at the latest in 1s");
    clock.advance(1_000);
    expect(await get(`${PATH}?within=15s`)).toBe(`200 ${TEXT} ok, but the server has not been ready since its start\n`);
    expect(await get(PATH)).toContain("at the latest in 15s");
    expect(await get(`${PATH}?within=soon`)).toBe(`400 ${TEXT} within takes whole seconds, as in 15s\n`);
  });

  test("is 500 while the server drains, with or without agents so far", async () => {
    const get = await startedNow();
    draining = true;
    expect(await get(PATH)).toBe(`500 ${TEXT} shutting down`);
    draining = false;
    ready = true;
    expect(await get(PATH)).toBe(`200 ${TEXT} ok`);
    draining = true;
    expect(await get(PATH)).toBe(`500 ${TEXT} shutting down`);
    clock.advance(60_000);
    expect(await get(PATH)).toBe(`500 ${TEXT} shutting down`);
  });

  test("is not served by a process that is no server", async () => {
    const get = await started(startServerHealth(anywhere, readiness, registry()));
    expect(await get(PATH)).toBe(`404 ${TEXT} 404 page not found\n`);
  });
});

describe("the agent's health port", () => {
  test("answers as upstream does", async () => {
    const get = await started(startAgentHealth(anywhere, readiness, registry()));
    expect(await get("/healthz")).toBe(`200 ${TEXT} ok`);
    const failed = `503 ${TEXT} [+]ping ok\n[-]server-connected failed: no servers connected\n`;
    expect(await get("/readyz")).toBe(failed);
    expect(await get("/ready?verbose")).toBe(failed);
    const some = { ...readiness, some: () => true, why: () => "1 of 2 servers connected (--ready-with=all)" };
    const getSome = await started(startAgentHealth(anywhere, some, registry()));
    expect(await getSome("/readyz")).toContain(
      "[-]server-connected failed: 1 of 2 servers connected (--ready-with=all)",
    );
    ready = true;
    expect(await get("/readyz")).toBe(`200 ${TEXT} ok`);
    const verbose = `200 ${TEXT} [+]ping ok\n[+]server-connected ok\ncheck passed\n`;
    expect(await get("/readyz?verbose")).toBe(verbose);
    expect(await get("/ready?verbose=false")).toBe(verbose);
  });
});

describe("a port of ours", () => {
  test("refuses to open where another listens, in one sentence", async () => {
    await started(startServerHealth(anywhere, readiness, registry()));
    const { port } = running[0]!;
    await expect(startServerHealth({ host: "127.0.0.1", port }, readiness, registry())).rejects.toMatchObject({
      code: "DB_LISTEN_IN_USE",
      message: `The health listener cannot open 127.0.0.1:${port}: it is already in use.`,
    });
    await expect(startServerHealth({ host: "192.0.2.1", port: 0 }, readiness, registry())).rejects.toMatchObject({
      code: "DB_LISTEN",
      message: "The health listener cannot open 192.0.2.1:0: it is not an address of this host.",
    });
  });

  test("takes headers of 16 KiB and no more", async () => {
    const get = await started(startServerHealth(anywhere, readiness, registry()));
    const withHeader = (size: number) => get("/healthz", { headers: { "x-long": "x".repeat(size) } });
    expect(await withHeader(15_000)).toBe(`200 ${TEXT} ok`);
    expect(await withHeader(17_000)).toMatch(/^431 /);
  });

  test("closes promptly although clients keep their connections", async () => {
    const http = await startServerHealth(anywhere, readiness, registry());
    const idle = connect(http.port, "127.0.0.1");
    const used = await fetch(`http://127.0.0.1:${http.port}/healthz`);
    await used.text();
    const half = connect(http.port, "127.0.0.1", () => half.write("GET /healthz HTTP/1.1\r\n"));
    const gone = [idle, half].map(
      (socket) => new Promise((resolve) => socket.on("error", () => {}).on("close", resolve)),
    );
    await new Promise((resolve) => half.once("connect", resolve));
    const before = performance.now();
    await http.close();
    await Promise.all(gone);
    // Without being closed they would be kept for a minute and more.
    expect(performance.now() - before).toBeLessThan(15_000);
  });
});
