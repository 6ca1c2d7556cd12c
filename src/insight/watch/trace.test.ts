/** One dial through a frontend that the test plays, with a real admin port beside it. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { PlayedRole } from "../observe/admin/testing/role.js";
import { startAdmin } from "../observe/admin.js";
import { AdminPort } from "./admin-port.js";
import { trace } from "./trace.js";

const TOKEN = "a-token-of-this-test";
const TARGET = "10.0.0.7:443";
let folder: string;
let role: PlayedRole;
let http: RunningHttp;
let server: Server;
/** What the server does when a caller connects. */
let answer: (caller: Socket) => void;
const callers = new Set<Socket>();

const admin = (token = TOKEN) => new AdminPort({ url: new URL(`http://127.0.0.1:${http.port}`), token });
const frontend = () => ({ mode: "http-connect", uds: join(folder, "frontend") }) as const;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-trace-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  role = new PlayedRole();
  const options = { ...role.parts, tokenFile, profiling: false };
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
  server = createServer((caller) => {
    callers.add(caller.on("error", () => {}));
    caller.once("data", () => answer(caller));
  }).listen(frontend().uds);
  await once(server, "listening");
});
afterEach(async () => {
  for (const caller of callers) caller.destroy();
  callers.clear();
  server.close();
  await http.close();
  rmSync(folder, { recursive: true });
});

/** The server's clock is so far from ours. */
function opens(id: number, apartMs = 0): void {
  role.open(id, TARGET).askedAt = Date.now() + apartMs;
}

function accept(caller: Socket): void {
  caller.write("HTTP/1.1 200 Connection established\r\n\r\n");
}

test("a dial that goes well has its steps, and who carried it", async () => {
  answer = (caller) => {
    opens(5);
    accept(caller);
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced).toMatchObject({ target: TARGET, ok: true });
  expect(traced.steps.map(({ name, detail }) => [name, detail])).toEqual([
    ["reach the frontend", frontend().uds],
    ["choose an agent", "agent-5"],
    ["agent dials the target", undefined],
    ["round trip to the server", undefined],
  ]);
  expect(traced.blind).toBeUndefined();
  for (const { ms } of traced.steps) expect(ms).toBeGreaterThanOrEqual(0);
});

test.each([-3_600_000, 3_600_000])("a server whose clock is %d ms apart is understood all the same", async (apart) => {
  const info = { role: "server" as const, id: "s-1", ready: true, draining: false };
  role.process = () => ({ ...info, now: Date.now() + apart });
  // Somebody else's, from before.
  role.open(4, TARGET).askedAt = Date.now() + apart - 60_000;
  answer = (caller) => {
    opens(5, apart);
    accept(caller);
  };
  expect((await trace(frontend(), TARGET, admin(), 5_000)).steps[1]?.detail).toBe("agent-5");
  role.list.delete(5);
  answer = accept;
  expect((await trace(frontend(), TARGET, admin(), 5_000)).blind).toContain("knows of no such dial");
});

test("a dial is found in the record among thousands to the same target", async () => {
  for (let id = 1; id <= 2_500; id++) role.open(id, TARGET);
  answer = (caller) => {
    opens(2_507);
    accept(caller);
  };
  expect((await trace(frontend(), TARGET, admin(), 5_000)).steps[1]?.detail).toBe("agent-7");
});

test("a dial that no agent takes is reported with the reason", async () => {
  const explanation = {
    ...{ address: TARGET, host: "10.0.0.7", agentsConnected: 2, considered: [] },
    strategies: [{ name: "default", keys: 2, matches: 0 }],
  };
  answer = (caller) => {
    role.refusals.add({ id: "REF1", target: TARGET, why: "nobody" }, explanation);
    const { agent: _agent, ...asked } = role.open(6, TARGET);
    role.list.delete(6);
    const marks = { ended: 1.5 };
    role.end({ ...asked, askedAt: Date.now(), state: "failed", marks, refusalId: "REF1" });
    caller.end("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced).toMatchObject({ ok: false, explanation, error: expect.stringContaining("503") });
  expect(traced.steps[1]).toEqual({ name: "choose an agent", ms: 1.5, detail: "failed" });
});

test("without the server's admin port only the caller's times are reported, with a remark", async () => {
  answer = accept;
  const alone = await trace(frontend(), TARGET, undefined, 5_000);
  expect(alone.steps.map(({ name }) => name)).toEqual(["reach the frontend", "ask, and wait for the answer"]);
  expect(alone.blind).toContain("no admin port was given");
  const refused = await trace(frontend(), TARGET, admin("wrong"), 5_000);
  expect(refused).toMatchObject({ ok: true, blind: expect.stringContaining("answered 401") });
});

test("a frontend that does not exist is reported as unreachable", async () => {
  const traced = await trace({ mode: "http-connect", uds: join(folder, "nothing") }, TARGET, undefined, 5_000);
  expect(traced.ok).toBe(false);
  expect(traced.steps).toMatchObject([{ name: "reach the frontend", detail: `${join(folder, "nothing")}, failed` }]);
});
