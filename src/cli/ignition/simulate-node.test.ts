import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { captureOutput } from "../testing/output.js";
import simulateNode from "./simulate-node.js";

const printed = captureOutput();
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-simulate-cli-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const at = (name: string) => join(folder, name);

function simulate(config: object, ...flags: string[]): Promise<number> {
  writeFileSync(at("user.ign"), JSON.stringify({ ignition: { version: "3.2.0" }, ...config }));
  return simulateNode.run("drawbridge simulate-node", [at("user.ign"), `--root=${at("root")}`, ...flags]);
}

const files = [{ path: "/etc/key", mode: 0o600, contents: { source: "data:,s3cr3t" } }];

describe("drawbridge simulate-node", () => {
  test("says what it wrote and what it left out, without showing it", async () => {
    const user = { passwd: { users: [{ name: "core" }] }, storage: { files } };
    expect([await simulate(user), printed.stderr]).toEqual([0, ""]);
    expect(printed.stdout).toContain(
      "  /etc/key  0600  6 bytes\n1 file, 0 directories, 0 links and 0 units written below ",
    );
    expect(printed.stdout).toContain("left out: users core\n");
    expect(printed.stdout).not.toContain("s3cr3t");
    expect(readFileSync(at("root/etc/key"), "utf8")).toBe("s3cr3t");
  });

  test("gives the same to scripts", async () => {
    expect(await simulate({ storage: { files } }, "--output=json")).toBe(0);
    expect(JSON.parse(printed.stdout)).toMatchObject({
      root: at("root"),
      files: [{ path: "/etc/key", bytes: 6 }],
      units: 0,
    });
  });

  test("shows each attempt, and ends with 1 when it came to nothing", async () => {
    const merge = [{ source: "http://127.0.0.1:1/ignition" }];
    // Long enough for a second attempt, also where the first takes its time.
    expect(await simulate({ ignition: { version: "3.2.0", config: { merge } } }, "--timeout=3s")).toBe(1);
    expect(printed.stderr).toMatch(
      /^GET http:\/\/127\.0\.0\.1:1\/ignition \(1\): connect ECONNREFUSED.*; asking again in 0\.2 s\n/,
    );
    expect(printed.stderr).toContain("a machine would go on asking (DB_SIMULATE_FETCH");
  });

  test("needs a name to become a node", async () => {
    expect([await simulate({}, "--csr"), printed.stderr]).toEqual([1, expect.stringContaining("DB_SIMULATE_JOIN")]);
  });

  test.each([
    [["--root=b"], "the user-data file is missing"],
    [["a", "b", "--root=c"], '"b" is one word too many'],
    [["a"], "--root is missing"],
    [["a", "--root=b", "--name=c"], "--name and --address need --csr"],
    [["a", "--root=b", "--timeout=0s"], '"--timeout" flag: must be at least 1ms'],
  ])("refuses %j", async (argv, sentence) => {
    expect([await simulateNode.run("drawbridge simulate-node", argv), printed.stderr]).toEqual([
      2,
      expect.stringContaining(sentence),
    ]);
  });
});
