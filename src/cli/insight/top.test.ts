/** `top --once` asks a real admin port of a role that the test plays, while bytes flow. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { PlayedRole } from "../../insight/observe/admin/testing/role.js";
import { startAdmin } from "../../insight/observe/admin.js";
import { captureOutput } from "../testing/output.js";
import top from "./top.js";

const said = captureOutput();
let folder: string;
let http: RunningHttp;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-top-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, "a-token", { mode: 0o600 });
  const role = new PlayedRole();
  const tunnel = role.open(1);
  const sums = role.totals.bind(role);
  // A megabyte between every two looks at the totals.
  role.totals = () => {
    tunnel.bytesFromTarget += 1024 * 1024;
    return sums();
  };
  const options = { ...role.parts, tokenFile, profiling: false };
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
});
afterEach(async () => {
  await http.close();
  rmSync(folder, { recursive: true });
});

const once = (...more: string[]) =>
  top.run("drawbridge top", [
    ...[`--admin=http://127.0.0.1:${http.port}`, `--token-file=${join(folder, "token")}`, "--once", ...more],
  ]);

test("top --once shows the rate of two looks while bytes flow", async () => {
  expect(await once()).toBe(0);
  expect(said.stdout).toMatch(/from targets +[\d.]+ (KiB|MiB)\/s/);
  expect(said.stdout).not.toMatch(/from targets +0 B\/s/);
});

test("top --once --output json has the rates beside the totals", async () => {
  expect(await once("--output=json")).toBe(0);
  const { rates, totals } = JSON.parse(said.stdout) as Record<string, Record<string, number>>;
  expect(rates?.fromTarget).toBeGreaterThan(100_000);
  expect(totals?.bytesFromTarget).toBeGreaterThan(1024 * 1024);
});
