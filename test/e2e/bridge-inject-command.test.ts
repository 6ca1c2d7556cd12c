/** `drawbridge bootstrap inject` as it is shipped: how long it takes, and what it does where it cannot write. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bootstrapIgnition, file } from "../support/ignition-fixtures/ignition.js";
import { filling } from "../support/ignition-fixtures/manifests.js";
import { shapes } from "../support/ignition-fixtures/releases.js";
import { equipped } from "../support/lab/equipment.js";

const ready = await equipped({ namespaces: true });

describe.skipIf(!ready)("drawbridge bootstrap inject as a process", () => {
  const drawbridge = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));
  let folder: string;
  let path: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-inject-e2e-"));
    path = join(folder, "bootstrap.ign");
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const large = () => {
    const manifests = Array.from({ length: 200 }, (_, i) =>
      file(`/opt/openshift/manifests/filling-${i}.yaml`, 0o644, filling(7_000)),
    );
    return bootstrapIgnition(shapes["4.18"], { extraFiles: manifests });
  };

  test("a file of real size, from start to exit", () => {
    const text = large();
    writeFileSync(path, text);
    const began = performance.now();
    const { status, stderr } = spawnSync(drawbridge, ["bootstrap", "inject", path], { encoding: "utf8" });
    const took = performance.now() - began;
    process.stdout.write(
      `drawbridge bootstrap inject: ${(text.length / 1e6).toFixed(1)} MB in ${took.toFixed(0)} ms (bar: 1000 ms)\n`,
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(spawnSync(drawbridge, ["bootstrap", "inject", "--remove", path]).status).toBe(0);
    expect(readFileSync(path, "utf8") === text).toBe(true);
  });

  test.each([
    ["a full disk", "mount -t tmpfs -o size=2100k none", "true"],
    ["a read-only directory", "mount -t tmpfs none", "mount -o remount,ro"],
  ])("%s: one sentence, and the file is as it was", (_, mount, then) => {
    writeFileSync(path, large());
    const place = join(folder, "place");
    const script = [
      "set -e",
      `mkdir -p ${place}; ${mount} ${place}`,
      `cp ${path} ${place}/bootstrap.ign; ${then} ${then === "true" ? "" : place}`,
      `set +e; ${drawbridge} bootstrap inject ${place}/bootstrap.ign; echo "ended with $?"`,
      `cmp ${path} ${place}/bootstrap.ign && ls -A ${place}`,
    ].join("\n");
    const { stdout, stderr } = spawnSync("unshare", ["--mount", "bash", "-c", script], { encoding: "utf8" });
    expect(stdout).toBe("ended with 1\nbootstrap.ign\n");
    expect(stderr).toMatch(
      /^Error: .*bootstrap.ign cannot be written: (ENOSPC|EROFS)[^\n]* \(DB_IGNITION_WRITE: [^\n]*\)\n$/,
    );
    expect(readdirSync(folder).sort()).toEqual(["bootstrap.ign", "place"]);
  });
});
