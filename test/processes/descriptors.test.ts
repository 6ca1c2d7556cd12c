/** An agent without file descriptors: it says so, and what it cannot serve is served by another. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { readExactly } from "../support/callers/bytes.js";
import { type AgentProcess, startAgent } from "../support/processes/agent.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";

// Each test starts processes of its own.
vi.setConfig({ testTimeout: 120_000 });

/** An idle agent needs about half of them; while it starts, it opens its forty modules at once. */
const FEW = 72;

let tunnel: Tunnel | undefined;
let echo: Target | undefined;
let few: AgentProcess | undefined;

afterEach(async () => {
  await few?.process.close();
  await tunnel?.close();
  await echo?.close();
});

async function startWith(agents: number): Promise<{ tunnel: Tunnel; named: string }> {
  tunnel = await startTunnel({ server: "ours", agent: "ours", frontend: "connect-uds", agents });
  echo = await startEcho();
  return { tunnel, named: `localhost:${echo.port}` };
}

async function addAgentWithFew({ place, pki }: Tunnel): Promise<AgentProcess> {
  few = await startAgent({
    origin: "ours",
    serverPort: place.agentPort,
    pki,
    through: ["prlimit", `--nofile=${FEW}:${FEW}`],
    flags: ["-v=2"],
  });
  await few.untilReady();
  return few;
}

test("the answer says that descriptors are missing, for addresses and for names, and the agent's log says so, too", async () => {
  const { tunnel, named } = await startWith(0);
  const agent = await addAgentWithFew(tunnel);
  let full = await tunnel.dial(named);
  for (let opened = 1; full.ok && opened < 2 * FEW; opened++) full = await tunnel.dial(named);
  expect(full).toMatchObject({ ok: false, status: 503, text: expect.stringMatching(/: socket: too many open files$/) });
  expect(await tunnel.dial("nobody.example:80")).toMatchObject({
    status: 503,
    text: "dial tcp: lookup nobody.example: socket: too many open files",
  });
  expect(agent.process.log.text).toContain("has no file descriptor left");
});

test("another agent is tried: no dial fails", async () => {
  const { tunnel, named } = await startWith(1);
  // More than the other can have, so that it is preferred until it fails.
  for (let opened = 0; opened < FEW; opened++) await tunnel.open(named);
  const agent = await addAgentWithFew(tunnel);
  // Every fourth dial goes to the other one by chance.
  for (let opened = 0; opened < 3 * FEW; opened++) {
    const socket = await tunnel.open(named);
    socket.write("hello");
    expect(String(await readExactly(socket, 5))).toBe("hello");
  }
  expect(agent.process.log.text).toContain("has no file descriptor left");
});

/** Loads a program with fewer descriptors than its chunks need. */
function loadWithFew(name: string, argv: readonly string[]) {
  const program = join(import.meta.dirname, "../../dist/bin", name);
  return spawnSync("prlimit", ["--nofile=21:21", process.execPath, program, ...argv], {
    // Node itself would say that it cannot read them.
    env: { ...process.env, NODE_EXTRA_CA_CERTS: "" },
    encoding: "utf8",
    timeout: 60_000,
  });
}

test("drawbridge that cannot even load itself says so in one sentence, without a stack", () => {
  const folder = mkdtempSync(join(tmpdir(), "db-few-files-"));
  try {
    const where = `--dir=${join(folder, "pki")}`;
    const { status, stderr } = loadWithFew("drawbridge", [
      ...["pki", "init", "--profile=bootstrap", "--ip=127.0.0.1", where],
    ]);
    expect(stderr).toMatch(/^Error: [^\n]+ EMFILE: [^\n]+ \(DB_OPEN_FILES: Raise the limit of open files: [^\n]+\)\n$/);
    expect(status).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a program of one file can be loaded with as few descriptors as Node needs", () => {
  const { status, stderr } = loadWithFew("proxy-agent", ["--help"]);
  expect([status, stderr]).toEqual([0, ""]);
});
