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
/** What the server does with a caller that dials under this ID. */
let answer: (caller: Socket, dialId: string) => void;
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
    caller.once("data", (head: Buffer) => answer(caller, /^X-Drawbridge-Dial-Id: (\d+)\r$/m.exec(String(head))![1]!));
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

function opens(id: number, dialId: string): void {
  role.open(id, TARGET).dialId = dialId;
}

function accept(caller: Socket): void {
  caller.write("HTTP/1.1 200 Connection established\r\n\r\n");
}

test("a dial that goes well has its steps, and who carried it", async () => {
  role.addAgent(5);
  role.roundTripMs = 1.4;
  answer = (caller, dialId) => {
    opens(5, dialId);
    accept(caller);
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced).toMatchObject({ target: TARGET, ok: true });
  expect(traced.steps.map(({ name, detail }) => [name, detail])).toEqual([
    ["reach the frontend", frontend().uds],
    ["choose an agent", "agent-5"],
    ["link to the agent and back", "measured by a ping after the dial"],
    ["agent dials the target", undefined],
    ["round trip to the server", undefined],
  ]);
  // The agent was asked after 0.1 ms, and 2.5 ms after the request its answer came.
  expect(traced.steps[2]!.ms).toBeCloseTo(1.4);
  expect(traced.steps[3]!.ms).toBeCloseTo(1.0);
  expect(traced.blind).toBeUndefined();
  for (const { ms } of traced.steps) expect(ms).toBeGreaterThanOrEqual(0);
});

test("a dial to which another agent was asked first does not blame the choice", async () => {
  answer = (caller, dialId) => {
    const tunnel = role.open(5, TARGET);
    Object.assign(tunnel, { dialId, marks: { firstDialled: 0.2, dialled: 6_000.2, answered: 6_002.2 } });
    accept(caller);
  };
  const { steps } = await trace(frontend(), TARGET, admin(), 5_000);
  expect(steps.map(({ name }) => name).slice(1, 3)).toEqual(["choose an agent", "another agent failed first"]);
  expect([steps[1]!.ms, steps[2]!.ms]).toEqual([0.2, 6_000]);
});

test("a link whose round trip is not known is said to be in the agent's time", async () => {
  // The agent is gone when its link is to be measured.
  answer = (caller, dialId) => {
    opens(5, dialId);
    accept(caller);
  };
  const { steps } = await trace(frontend(), TARGET, admin(), 5_000);
  expect(steps[2]).toMatchObject({
    name: "agent dials the target",
    ms: 2.4,
    detail: "the link's round trip, which is not known, included",
  });
});

test("another caller's dial of the same target at the same time is not taken for its own", async () => {
  for (let id = 1; id <= 2_500; id++) opens(id, String(id));
  answer = (caller, dialId) => {
    opens(2_507, dialId);
    // Somebody else's, a moment later.
    opens(2_508, "77");
    accept(caller);
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced.steps[1]?.detail).toBe("agent-7");
  expect(role.list.get(2_507)?.dialId).toBe(traced.dialId);
});

test("a server that lists nothing under the dial's ID leaves only the caller's times, with a remark", async () => {
  answer = (caller) => {
    // As a server lists it that does not know the IDs.
    role.open(5, TARGET);
    accept(caller);
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced.steps.map(({ name }) => name)).toEqual(["reach the frontend", "ask, and wait for the answer"]);
  expect(traced.blind).toContain("has no record of this dial: another server has this frontend, or");
});

test("of a caller that was refused before it dialled, that is said first", async () => {
  answer = (caller) => caller.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced.blind).toContain("has no record of this dial: the caller was refused before a dial began, or another");
});

test("a dial that no agent takes is reported with the reason", async () => {
  const explanation = {
    ...{ address: TARGET, host: "10.0.0.7", agentsConnected: 2, considered: [] },
    strategies: [{ name: "default", keys: 2, matches: 0 }],
  };
  answer = (caller, dialId) => {
    role.refusals.add({ id: "REF1", target: TARGET, why: "nobody" }, explanation);
    const { agent: _agent, ...asked } = role.open(6, TARGET);
    role.list.delete(6);
    const marks = { ended: 1.5 };
    role.end({ ...asked, dialId, state: "failed", marks, refusalId: "REF1" });
    caller.end("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n");
  };
  const traced = await trace(frontend(), TARGET, admin(), 5_000);
  expect(traced).toMatchObject({ ok: false, explanation, error: expect.stringContaining("503") });
  expect(traced).toMatchObject({ code: "DB_DIAL_FAILED", remedy: expect.any(String) });
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
