import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionPath } from "../../cluster/kube/paths.js";
import { INVENTORY_LABEL } from "../../cluster/nodes/csr/inventory.js";
import type { ConfigMap } from "../../cluster/nodes/objects.js";
import { PoolFixture, TOKEN } from "../../insight/diagnosis/testing/pool-fixture.js";
import { drawbridge } from "../commands.js";
import { captureOutput } from "../testing/output.js";

const said = captureOutput();
let fixture: PoolFixture;

beforeEach(async () => {
  fixture = await PoolFixture.open();
  await fixture.worker("w-0");
});
afterEach(() => {
  fixture.close();
});

function doctor(...flags: string[]): Promise<number> {
  const access = [`--directory=${fixture.directory}`, "--namespace=clusters", `--state=${fixture.store.directory}`];
  return drawbridge.run("drawbridge", ["workers", "doctor", ...access, ...flags]);
}

const spoil = () => writeFileSync(fixture.store.userDataFile("w-0"), "{}");
const fixLog = () => join(fixture.store.directory, "fixes.jsonl");

describe("drawbridge workers doctor", () => {
  test("workers doctor ends with 0 when nothing is wrong, and finds the pool by its workers", async () => {
    expect([await doctor(), said.stderr]).toEqual([0, ""]);
    expect(said.stdout).toMatch(/^Pool clusters\/workers\n/);
    expect(said.stdout).toContain("0 failed, 0 warnings");
  });

  test("workers doctor shows what is wrong with its code, what shows it and what to do, and ends with 1", async () => {
    spoil();
    expect(await doctor()).toBe(1);
    expect(said.stdout).toContain(
      "FAILED   user-data (DB_NODE_USER_DATA): The user data of w-0: a machine would refuse it",
    );
    expect(said.stdout).toContain(fixture.store.userDataFile("w-0"));
    expect(said.stdout).toMatch(/Do: Write it again with drawbridge workers userdata/);
    expect(said.stdout).toContain("--fix can do something about 1 of these");
    expect(said.stdout + said.stderr).not.toContain(TOKEN);
    expect(existsSync(fixLog())).toBe(false);
  });

  test("workers doctor --fix reports what it would do, does it, and then has nothing to do", async () => {
    spoil();
    expect(await doctor("--fix", "--dry-run")).toBe(1);
    expect(said.stdout).toMatch(/Fixes:\n {2}would be done: write .*w-0\.ign again.* \(DB_NODE_USER_DATA\)/);
    expect(readFileSync(fixture.store.userDataFile("w-0"), "utf8")).toBe("{}");
    expect(await doctor("--fix")).toBe(0);
    expect(said.stdout).toMatch(/done: write .*\n.*is written; boot the machine with it/);
    said.stdout = "";
    expect(await doctor("--fix")).toBe(0);
    expect(said.stdout).toContain("There was nothing that could be fixed from here.");
    expect(readFileSync(fixLog(), "utf8").trim().split("\n")).toHaveLength(2);
  });

  test("workers doctor postpones a fix while another command works there, and still reports what is wrong", async () => {
    spoil();
    writeFileSync(join(fixture.store.directory, ".lock"), `${process.ppid}\n`);
    expect(await doctor("--fix")).toBe(1);
    expect(said.stdout).toContain("FAILED   user-data (DB_NODE_USER_DATA)");
    expect(said.stdout).toMatch(/failed: write .*\n.*another drawbridge workers command/);
    expect(readFileSync(fixture.store.userDataFile("w-0"), "utf8")).toBe("{}");
    expect(existsSync(fixLog())).toBe(false);
  });

  test("workers doctor knows the claims of an Ignition server in the cluster, where claims are asked for", async () => {
    await fixture.file("csr-1", "w-0");
    expect(await doctor("--require-claim")).toBe(1);
    expect(said.stdout).toContain("rule claim");
    const claims = `pool: clusters/workers\nclaims: [{worker: w-0, at: "${new Date().toISOString()}"}]\n`;
    const labels = { [INVENTORY_LABEL]: "true" };
    const metadata = { name: "drawbridge-claims", namespace: "clusters", labels };
    const map: ConfigMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { claims } };
    await fixture.api.create(collectionPath("ConfigMap", "clusters"), map);
    said.stdout = "";
    await doctor("--require-claim");
    expect(said.stdout).toContain("csr-1 asks for a client certificate of w-0");
    expect(said.stdout).toContain("keeps every rule, and is not approved");
  });

  test("workers doctor looks at the other pools when one is gone", async () => {
    spoil();
    const [first] = await fixture.store.read();
    await fixture.store.create([{ ...first!, name: "x-0", pool: "clusters/gone" }]);
    expect(await doctor()).toBe(1);
    expect(said.stdout).toContain("Pool clusters/gone could not be read: there is no pool clusters/gone");
    expect(said.stdout).toContain("FAILED   user-data (DB_NODE_USER_DATA): The user data of w-0");
  });

  test("workers doctor gives scripts the same findings as JSON", async () => {
    spoil();
    expect(await doctor("--output=json", "w-0")).toBe(1);
    const { ok, pools } = JSON.parse(said.stdout);
    expect([ok, pools[0].pool, pools[0].fixes]).toEqual([false, "clusters/workers", []]);
    expect(pools[0].findings.find(({ code }: { code?: string }) => code === "DB_NODE_USER_DATA")).toMatchObject({
      ...{ check: "user-data", subject: "w-0", state: "failed" },
      fix: expect.stringContaining("write "),
    });
  });

  test.each([
    [["--dry-run"], "--dry-run goes with --fix"],
    [["--health-port=1"], "--health-port needs --watch"],
    [["--watch", "--output=json"], "--watch logs"],
    [["--interval=1ms"], "--interval must be at least"],
    [["--pool=A"], "is not a name"],
  ])("refuses %j", async (flags, sentence) => {
    expect([await doctor(...flags), said.stderr]).toEqual([2, expect.stringContaining(sentence)]);
  });

  test("workers doctor refuses workers and pools that are not known", async () => {
    expect([await doctor("w-7"), said.stderr]).toEqual([1, expect.stringContaining("there is no worker w-7")]);
    expect([await doctor("--pool=other"), said.stderr]).toEqual([
      1,
      expect.stringContaining("there is no pool clusters/other"),
    ]);
  });
});
