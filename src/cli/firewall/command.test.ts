import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { awsCluster, INFRA } from "../../cluster/bootstrap/firewall/testing/manifests.js";
import { drawbridge } from "../commands.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-firewall-"));
  mkdirSync(join(dir, "cluster-api"));
  writeFileSync(join(dir, "metadata.json"), JSON.stringify({ infraID: INFRA, aws: {} }));
  writeFileSync(join(dir, "cluster-api", "02_infra-cluster.yaml"), awsCluster());
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(dir, { recursive: true });
});

async function call(...argv: string[]) {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
  }
  const code = await drawbridge.run("drawbridge", ["firewall", ...argv]);
  vi.restoreAllMocks();
  return { code, ...printed };
}

test("plan reads platform and infrastructure ID from the install directory", async () => {
  const { code, stdout } = await call("plan", "--dir", dir, "-o", "json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    platform: "aws",
    infraId: INFRA,
    rule: { proto: "tcp", port: 8091, to: "bootstrap" },
  });
});

test("patch and remove say what they did, and that there is nothing to do", async () => {
  const file = join(dir, "cluster-api", "02_infra-cluster.yaml");
  const opened = await call("patch", "--dir", dir);
  expect(opened.stdout).toContain(
    `${file} (AWSCluster ${INFRA}): changed\nopened: tcp 8091 from controlplane and node`,
  );
  expect((await call("patch", "--dir", dir)).stdout).toContain(": unchanged\n");
  expect((await call("remove", "--dir", dir)).stdout).toContain("closed: tcp 8091");
  expect((await call("remove", "--dir", dir)).stdout).toBe(`${file} (AWSCluster ${INFRA}): unchanged\n`);
  expect(readFileSync(file, "utf8")).toBe(awsCluster());
});

test.each([
  [["plan"], "--platform must be one of aws, azure,"],
  [["plan", "--platform", "moon"], "must be one of aws, azure, azurestack"],
  [["plan", "--platform", "aws", "extra"], '"extra" belongs to no flag'],
  [["plan", "--platform", "aws", "--output", "xml"], "must be one of text, json"],
  [["plan", "--platform", "vsphere"], "--platform vsphere needs --machine-network"],
  [["patch", "--platform", "aws"], "--dir must name the install directory"],
  [["open"], 'unknown command: "open"; commands of drawbridge firewall are: plan, patch, remove'],
])("%j is misuse, in one line", async (argv, message) => {
  const { code, stdout, stderr } = await call(...argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^Error: [^\n]+\(DB_FLAG_[A-Z]+: [^\n]+\)\n$/);
  expect(stderr).toContain(message);
});

test("a directory without manifests fails with what to do", async () => {
  rmSync(join(dir, "cluster-api"), { recursive: true });
  const { code, stderr } = await call("patch", "--dir", dir);
  expect(code).toBe(1);
  expect(stderr).toContain("DB_FIREWALL_MANIFEST: Run openshift-install create manifests first");
});

test("help lists the flags of a subcommand", async () => {
  const { code, stdout } = await call("plan", "--help");
  expect(code).toBe(0);
  expect(stdout).toContain("Usage:\n  drawbridge firewall plan [flags]\n");
  expect(stdout).toContain("--byo-network");
});
