import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, describe, expect, test } from "vitest";
import { Logger, type LoggerOptions, type WriteBytes } from "./log.js";

const time = new Date(2026, 10, 15, 20, 14, 3, 123);

function logger(options: Partial<LoggerOptions> = {}): { log: Logger; text: () => string } {
  const chunks: string[] = [];
  const write: WriteBytes = (bytes, done) => {
    chunks.push(bytes.toString());
    done(null);
  };
  return {
    log: new Logger({ format: "text", verbosity: 4, now: () => time, write, ...options }),
    text: () => chunks.join(""),
  };
}

describe("Logger", () => {
  test("writes text with klog's header", () => {
    const { log, text } = logger();
    log.info(1, "agent connected", { agentId: "a-1", stream: 7, draining: false, dialId: 9n, nothing: undefined });
    log.warn("careful", { files: ["a.pem", "b.pem"] });
    log.error("bad", { error: new Error("spilled ink") });
    const header = `1115 20:14:03.123000 ${String(process.pid).padStart(7)}]`;
    expect(text()).toBe(
      `I${header} agent connected agentId="a-1" stream=7 draining=false dialId=9\n` +
        `W${header} careful files=["a.pem","b.pem"]\n` +
        `E${header} bad error="spilled ink"\n`,
    );
  });

  test("writes one JSON object per line", () => {
    const { log, text } = logger({ format: "json" });
    log.info(1, "agent connected", { dialId: 2n ** 62n, message: "cannot overwrite" });
    expect(text().endsWith("\n")).toBe(true);
    expect(JSON.parse(text())).toEqual({
      time: time.toISOString(),
      level: "info",
      pid: process.pid,
      message: "agent connected",
      dialId: "4611686018427387904",
    });
  });

  test.each(["text", "json"] as const)("has measured times of %s with three digits, wherever they stand", (format) => {
    const { log, text } = logger({ format });
    const fields = { a: 1.23456789012345, b: 1234.56789, c: 0.000123456, d: 1790000000123, e: [99.987654], f: -0.5 };
    log.info(0, "measured", fields);
    const expected =
      format === "json"
        ? '"a":1.23,"b":1235,"c":0.000123,"d":1790000000123,"e":[100],"f":-0.5'
        : "a=1.23 b=1235 c=0.000123 d=1790000000123 e=[100] f=-0.5";
    expect(text()).toContain(expected);
  });

  test("keeps information above its verbosity to itself, warnings never", () => {
    const { log, text } = logger({ verbosity: 2 });
    log.info(3, "too much");
    log.info(2, "just right");
    log.warn("always");
    expect(text()).not.toContain("too much");
    expect(text()).toContain("just right");
    expect(text()).toContain("always");
  });

  test.each(["text", "json"] as const)("takes secrets out of %s wherever they stand", (format) => {
    const { log, text } = logger({ format });
    const pem = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\nabc\n-----END EC PRIVATE KEY-----";
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
    log.warn(`header was authorization: Bearer abc.def-123 and ${token}`, {
      nested: { deep: [`before ${pem} after`] },
      error: new Error(`Bearer s3cr3t`),
      token: "plain-secret",
      note: pem.slice(0, 40),
    });
    for (const secret of ["abc.def-123", "eyJ", "MHcC", "s3cr3t", "plain-secret"]) expect(text()).not.toContain(secret);
    expect(text()).toContain("before [private key removed] after");
    if (format === "json") expect(() => JSON.parse(text())).not.toThrow();
  });

  test.each(["text", "json"] as const)("cannot be made to begin a line of %s by a peer", (format) => {
    const { log, text } = logger({ format });
    log.warn("from\nI1115 forged\r\u001b[31m", { agentId: "x\nE1115 forged\u001b[31m" });
    expect(
      text()
        .trimEnd()
        .split(/[\r\n]/),
    ).toHaveLength(1);
    expect(text()).not.toContain("\u001b");
  });

  test.each(["text", "json"] as const)("keeps %s lines to a length", (format) => {
    const { log, text } = logger({ format });
    log.warn("long", { text: "x".repeat(1_000_000) });
    expect(text().length).toBeLessThan(80_000);
    if (format === "json") expect(JSON.parse(text())).toMatchObject({ message: "long" });
  });

  test("drops and counts what a slow reader cannot take, and says so when it can again", () => {
    const chunks: string[] = [];
    const waiting: (() => void)[] = [];
    const write: WriteBytes = (bytes, done) => {
      chunks.push(bytes.toString());
      waiting.push(() => done(null));
    };
    const { log } = logger({ write });
    for (let line = 0; line < 2_000; line++) log.info(0, "x".repeat(1024), { line });
    expect(chunks).toHaveLength(1);
    waiting.shift()?.();
    const held = chunks[1] ?? "";
    expect(held.length).toBeLessThan(1_100_000);
    const kept = held.split("\n").filter((line) => line.includes("line=")).length;
    const dropped = Number(/log lines were dropped .* count=(\d+)/.exec(held)?.[1]);
    expect(kept + dropped + 1).toBe(2_000);
    expect(dropped).toBeGreaterThan(900);
  });

  test("lines that a full disk did not take are counted once it takes lines again, and none is torn", () => {
    let room = 60;
    let disk = "";
    const write: WriteBytes = (bytes, done) => {
      const part = bytes.subarray(0, room);
      disk += part.toString();
      room -= part.length;
      done(part.length < bytes.length ? new Error("ENOSPC: no space left on device") : null, part.length);
    };
    const { log } = logger({ write });
    for (let line = 0; line < 5; line++) log.info(0, "x", { line });
    room = 10_000;
    log.info(0, "x", { line: 5 });
    log.info(0, "x", { line: 6 });
    const header = /^[IW]1115 20:14:03\.123000 +\d+\] /;
    const [whole = "", torn = "", ...rest] = disk.trimEnd().split("\n");
    expect(whole).toMatch(/ x line=0$/);
    expect(torn.length).toBeLessThan(whole.length);
    expect(rest.map((line) => line.replace(header, ""))).toEqual([
      'log lines were dropped because they could not be written count=4 error="ENOSPC: no space left on device"',
      "x line=5",
      "x line=6",
    ]);
  });

  test("a log that can never be written is tried once for each line, and not again by itself", () => {
    let writes = 0;
    const write: WriteBytes = (_bytes, done) => {
      writes++;
      done(new Error("EPIPE"));
    };
    const { log } = logger({ write });
    for (let line = 0; line < 100; line++) log.info(0, "x", { line });
    expect(writes).toBe(100);
  });
});

describe("a process whose standard error nobody reads", () => {
  const folder = mkdtempSync(join(tmpdir(), "drawbridge-log-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  test("goes on, stays small and ends when it wants to", async () => {
    // Bundled as for users: a loader for TypeScript has its own hands on standard error.
    await build({
      entryPoints: [fileURLToPath(new URL("./log.ts", import.meta.url))],
      outfile: join(folder, "log.mjs"),
      bundle: true,
      platform: "node",
      format: "esm",
    });
    const script = join(folder, "chatter.mjs");
    writeFileSync(script, CHATTER);
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stderr.pause();
    const patience = { signal: AbortSignal.timeout(30_000) };
    // What it said last may be read after it has exited; standard error stays open, since nobody reads it.
    const ended = Promise.all([once(child, "exit", patience), once(child.stdout, "end", patience)]);
    const [[code]] = await ended.finally(() => child.kill("SIGKILL"));
    expect(code).toBe(0);
    const [, ticks, bytes] = /done (\d+) (\d+)/.exec(output) ?? [];
    expect(Number(ticks)).toBe(50);
    expect(Number(bytes)).toBeLessThan(8 << 20);
  }, 40_000);
});

const CHATTER = `
import { Logger } from "./log.mjs";
const log = new Logger({ format: "text", verbosity: 4 });
let ticks = 0;
const timer = setInterval(() => {
  for (let line = 0; line < 1000; line++) log.info(0, "x".repeat(1000), { line });
  if (++ticks < 50) return;
  clearInterval(timer);
  log.close().then(() => {
    console.log("done", ticks, process.memoryUsage().arrayBuffers);
    process.exit(0);
  });
}, 1);
`;
