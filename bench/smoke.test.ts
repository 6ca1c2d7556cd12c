import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { layGround } from "./contenders/ground.js";
import { loadgenPath } from "./load/loadgen.js";
import { checkOne } from "./smoke.js";
import { startMangler } from "./testing/mangler.js";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const missing = loadgenPath() === undefined;

test.skipIf(missing)("bytes are intact, stalls stay isolated, and it serves again", { timeout: 300_000 }, async () => {
  const child = spawn(process.execPath, ["--import", "tsx", main, "--smoke"], { stdio: ["ignore", "ignore", "pipe"] });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(said).toMatch(/smoke: all intact\n$/);
  expect(said).toMatch(/ours\/ours connect-uds stalled-reader +ok\n/);
  expect(said).toMatch(/ours\/ours grpc-uds +stalled-reader +ok\n/);
  expect(code).toBe(0);
});

test.skipIf(missing)("a tunnel that changes one bit is noticed", { timeout: 120_000 }, async () => {
  const ground = await layGround();
  const mangler = await startMangler(ground.target.address, "down", { kind: "flip", at: 2 ** 20 });
  try {
    const said: string[] = [];
    const route = { frontend: "direct", address: mangler.address, target: ground.target.address } as const;
    const broken = { name: "ours/ours", route, pids: [], close: () => Promise.resolve() } as const;
    const kind = { name: "ours/ours", frontend: "connect-tcp" } as const;
    expect(
      await checkOne(
        kind,
        () => Promise.resolve(broken),
        (line) => said.push(line),
      ),
    ).toBeGreaterThan(0);
    expect(said.join("\n")).toMatch(/bulk-down 8 +wrong bytes: byte \d+ is 0x/);
  } finally {
    await mangler.close();
    await ground.close();
  }
});
