/** What a person asks at three in the morning, of real processes: top, explain, trace. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { START_WITHIN_MS, waitUntil } from "../support/processes/deadline.js";
import { ours } from "../support/processes/executables.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

const TOKEN = "only-for-this-test-0123456789";

describe("a server with two agents", () => {
  let folder: string;
  let tunnel: Tunnel;
  let echo: Awaited<ReturnType<typeof startEcho>>;
  let admin: string[];
  let frontend: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "db-answers-"));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 });
    tunnel = await startTunnel({
      server: "ours",
      agent: "ours",
      frontend: "connect-uds",
      agents: 2,
      serverFlags: [`--admin-token-file=${tokenFile}`],
    });
    echo = await startEcho();
    admin = [`--admin=http://127.0.0.1:${tunnel.place.adminPort}`, `--token-file=${tokenFile}`];
    frontend = `--frontend=http-connect+uds:${tunnel.place.udsPath}`;
  });
  afterAll(async () => {
    await tunnel?.close();
    await echo?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const drawbridge = (...words: string[]) => run(ours("drawbridge"), ...words);
  /** Where no other process can be seen, whatever else runs on this host. */
  const alone = (...words: string[]) => run("unshare", "--pid", "--fork", "--mount-proc", ours("drawbridge"), ...words);
  const run = (program: string, ...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    new Promise((resolve) => {
      execFile(program, words, { timeout: 120_000 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });

  test("top --once is a picture for people, and JSON for scripts", async () => {
    const socket = await tunnel.open(echo.address);
    const picture = await drawbridge("top", "--once", ...admin);
    expect(picture).toMatchObject({ code: 0, stderr: "" });
    expect(picture.stdout).toMatch(/^HEALTHY {2}ready {2}server /);
    expect(picture.stdout).toContain("AGENTS 2");
    expect(picture.stdout).toContain(echo.address);
    const dump = JSON.parse((await drawbridge("top", "--once", "--output=json", ...admin)).stdout);
    expect(dump).toMatchObject({ process: { role: "server" }, tunnels: [{ target: echo.address, state: "open" }] });
    socket.destroy();
  });

  test("top draws on a terminal, takes keys, and leaves it as it was", async () => {
    const command = [ours("drawbridge"), "top", "--interval=200ms", ...admin].join(" ");
    const terminal = spawn("script", ["-qec", `stty rows 30 cols 100; ${command}`, "/dev/null"]);
    let drawn = "";
    const soon = { withinMs: START_WITHIN_MS };
    terminal.stdout.on("data", (chunk: Buffer) => {
      drawn += chunk.toString("utf8");
    });
    // Not its exit: what it wrote last may still be on its way then.
    const ended = once(terminal, "close");
    await waitUntil("the agents to be drawn", () => drawn.includes("AGENTS 2"), soon);
    terminal.stdin.write("s");
    await waitUntil("another order", () => drawn.includes("sorted by from, greatest first"), soon);
    terminal.stdin.write("q");
    expect(await ended).toEqual([0, null]);
    expect(drawn.startsWith("\u001b[?1049h\u001b[?25l")).toBe(true);
    expect(drawn.endsWith("\u001b[?25h\u001b[?1049l")).toBe(true);
  });

  test("explain names the strategy and the candidates", async () => {
    const { code, stdout } = await drawbridge("explain", echo.address, ...admin);
    expect(code).toBe(0);
    expect(stdout).toContain("strategy default");
    for (const { id } of tunnel.agents) expect(stdout).toContain(id);
  });

  test("trace dials, and tells each step with its time and the agent that dialled", async () => {
    const { code, stdout, stderr } = await drawbridge("trace", echo.address, frontend, ...admin);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/reached in [\d.]+ ms/);
    expect(stdout).toMatch(/choose an agent .* ours-agent-\d+/);
    expect(stdout).toMatch(/agent dials the target +[\d.]+ ms/);
    const { steps, totalMs } = JSON.parse(
      (await drawbridge("trace", echo.address, frontend, "--output=json", ...admin)).stdout,
    ) as { steps: { ms: number }[]; totalMs: number };
    expect(steps.reduce((sum, { ms }) => sum + ms, 0)).toBeCloseTo(totalMs, 3);
  });

  test("trace without a token tells its own side, and says so", async () => {
    const { code, stdout } = await alone("trace", echo.address, frontend);
    expect(code).toBe(0);
    expect(stdout).toContain("ask, and wait for the answer");
    expect(stdout).toContain("no admin port was given");
  });

  test("trace of a target that refuses says who tried and what it was told", async () => {
    const { code, stdout } = await drawbridge("trace", "127.0.0.1:1", frontend, ...admin);
    expect(code).toBe(1);
    expect(stdout).toMatch(/not reached/);
    expect(stdout).toMatch(/agent tries the target/);
    expect(stdout).toMatch(/refused/);
  });

  test("a wrong token, a closed port, a health port and a missing word: one sentence each, with what to do", async () => {
    const wrong = join(folder, "wrong");
    writeFileSync(wrong, "wrong");
    const [url = ""] = admin;
    const outcomes = await Promise.all([
      drawbridge("top", "--once", url, `--token-file=${wrong}`),
      drawbridge("top", "--once", "--admin=http://127.0.0.1:9", `--token-file=${wrong}`),
      drawbridge("top", "--once", `--admin=http://127.0.0.1:${tunnel.place.healthPort}`, `--token-file=${wrong}`),
      drawbridge("explain", ...admin),
      alone("trace", "127.0.0.1:1"),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([1, 1, 1, 2, 1]);
    expect(outcomes.map(({ stderr }) => /\((DB_\w+): /.exec(stderr)?.[1])).toEqual([
      "DB_ADMIN_REFUSED",
      "DB_CONNECT_REFUSED",
      "DB_ADMIN_ANSWER",
      "DB_FLAG_MISSING",
      "DB_ADMIN_UNKNOWN",
    ]);
    for (const { stderr } of outcomes) expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  test("without agents explain and trace say why there is no route", async () => {
    await tunnel.killAgents();
    const explained = await drawbridge("explain", echo.address, ...admin);
    expect(explained.code).toBe(1);
    expect(explained.stdout).toContain("No agent is connected.");
    const traced = await drawbridge("trace", echo.address, frontend, ...admin);
    expect(traced.code).toBe(1);
    expect(traced.stdout).toMatch(/choose an agent .*failed/);
  });
});
