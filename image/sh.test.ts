import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const sh = (...args: string[]) => [fileURLToPath(new URL("./sh.cjs", import.meta.url)), ...args];

test("the image's sh sleeps for as long as it is told, and ends well", () => {
  const from = performance.now();
  const { status, stderr } = spawnSync(process.execPath, sh("-c", "sleep 1"), { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(performance.now() - from).toBeGreaterThanOrEqual(1000);
});

test("the image's sh ends at once when its container does", async () => {
  const child = spawn(process.execPath, sh("-c", "sleep 70"));
  await once(child, "spawn");
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
});

test.each([
  [["-c", "id"]],
  [["-c", "sleep 1; id"]],
  [["-c", "sleep 1\nid"]],
  [["-c", "sleep $(id)"]],
  [["-c", "sleep 999999"]],
  [["-c", "sleep 1", "name"]],
  [["-e", "process.exit(0)"]],
  [["--eval=process.exit(0)"]],
  [[]],
])("the image's sh refuses %j with a sentence", (args) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, sh(...args), { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 127, stdout: "" });
  expect(stderr).toContain("this image has no shell");
});
