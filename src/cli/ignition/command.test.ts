import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { dataUrlOf } from "../../base/data-url.js";
import { drawbridge } from "../commands.js";

let dir: string;
const paths: Record<string, string> = {};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "db-ignition-"));
  const write = (name: string, content: string) => {
    paths[name] = join(dir, name);
    writeFileSync(paths[name], content);
  };
  const config = (version: string, body: object, ignition: object = {}) =>
    JSON.stringify({ ignition: { version, ...ignition }, ...body });
  const file = (path: string, text: string) => ({
    storage: { files: [{ path, contents: { source: dataUrlOf(text) } }] },
  });
  write("parent", config("3.2.0", file("/etc/motd", "one\n")));
  write("child", config("3.4.0", file("/etc/motd", "two\n")));
  write("karg", config("3.3.0", { kernelArguments: { shouldExist: ["a"] } }));
  write("below", config("3.2.0", { storage: { links: [{ path: "/etc", target: "/usr/etc" }] } }));
  write("broken", config("3.2.0", { storage: { files: [{ path: "x" }] } }));
  write("warned", config("3.2.0", { unknown: 1 }));
  write("words", "variant: fcos\n");
  write(
    "pointer",
    config("3.2.0", {}, { config: { merge: [{ source: dataUrlOf(config("3.1.0", file("/a", "a"))) }] } }),
  );
  write("remote", config("3.2.0", {}, { config: { replace: { source: "https://a.example" } } }));
});
afterAll(() => rmSync(dir, { recursive: true }));
afterEach(() => {
  vi.restoreAllMocks();
});

async function call(command: string, ...words: string[]) {
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      printed[name] += String(text);
      return true;
    });
  }
  const code = await drawbridge.run("drawbridge", ["ignition", command, ...words.map((word) => paths[word] ?? word)]);
  vi.restoreAllMocks();
  return { code, ...printed };
}

test("validate says what is wrong with each file and ends with 1", async () => {
  const { code, stdout, stderr } = await call("validate", "parent", "broken", "words");
  expect(code).toBe(1);
  expect(stdout).toBe(
    [
      `${paths.parent}: valid, spec 3.2.0`,
      `${paths.broken}: NOT VALID`,
      "  error: line 1, column 61: storage.files.0.path: the path is not absolute",
      `${paths.words}: NOT VALID`,
      "",
    ].join("\n"),
  );
  expect(stderr).toMatch(
    /^Error: .*words cannot be read as an Ignition config: it is not JSON: .*DB_IGNITION_CONFIG.*\n$/,
  );
});

test("validate accepts warnings unless --strict", async () => {
  expect(await call("validate", "warned")).toMatchObject({ code: 0, stdout: expect.stringContaining("warning: ") });
  const strict = await call("validate", "--strict", "-o", "json", "warned");
  expect(strict.code).toBe(1);
  expect(JSON.parse(strict.stdout)).toMatchObject({
    ok: false,
    files: [{ version: "3.2.0", findings: [{ severity: "warning", path: "unknown", line: 1, column: 43 }] }],
  });
});

test("merge prints one config of spec 3.2", async () => {
  const { code, stdout } = await call("merge", "parent", "child");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    ignition: { version: "3.2.0" },
    storage: { files: [{ path: "/etc/motd", contents: { source: dataUrlOf("two\n") } }] },
  });
});

test("merge writes another spec when asked, and follows data URLs when asked", async () => {
  const newer = await call("merge", "--spec", "3.3", "-o", "json", "parent", "karg");
  expect(JSON.parse(newer.stdout)).toMatchObject({
    ok: true,
    version: "3.3.0",
    config: { kernelArguments: { shouldExist: ["a"] } },
  });
  expect(JSON.parse((await call("merge", "pointer")).stdout)).toMatchObject({ ignition: { config: { merge: [{}] } } });
  expect(JSON.parse((await call("merge", "--resolve", "pointer")).stdout)).toEqual({
    ignition: { version: "3.2.0" },
    storage: { files: [{ path: "/a", contents: { source: dataUrlOf("a") } }] },
  });
});

test("preview shows the tree, diff the difference", async () => {
  expect((await call("preview", "parent")).stdout).toContain("motd   0644  root:root  4 B");
  expect(JSON.parse((await call("preview", "--output=json", "parent")).stdout).entries[0].path).toBe("/etc/motd");
  const differing = await call("diff", "parent", "child");
  expect(differing).toMatchObject({ code: 0, stdout: expect.stringContaining("-one\n      +two\n") });
  expect((await call("diff", "--exit-code", "parent", "child")).code).toBe(1);
  const same = await call("diff", "--exit-code", "-o", "json", "parent", "parent");
  expect([same.code, JSON.parse(same.stdout)]).toEqual([0, { equal: true, changes: [] }]);
});

test.each([
  [1, ["merge", "karg"], "kernelArguments prevents it (it came with spec 3.3.0) (DB_IGNITION_EXPRESS"],
  [
    1,
    ["merge", "parent", "below"],
    "together the configs are not valid: storage.files.0: the path leads through a link",
  ],
  [1, ["merge", "parent", "broken"], "broken is not a valid config: error at storage.files.0.path"],
  [1, ["merge", "--resolve", "remote"], "is not in the config but has to be fetched (DB_IGNITION_RESOURCE"],
  [1, ["preview", "nowhere"], "nowhere cannot be read: it does not exist."],
  [2, ["preview"], "the file is missing (DB_FLAG_MISSING"],
  [2, ["diff", "parent"], "two files are needed: drawbridge ignition diff OLD NEW"],
  [2, ["validate"], "at least one file is needed: drawbridge ignition validate FILE..."],
  [2, ["diff", "parent", "child", "--output", "xml"], "must be one of text, json"],
  [2, ["weave", "parent"], "unknown command"],
])("ends with %i after %j", async (code, [command = "", ...words], sentence) => {
  const answer = await call(command, ...words);
  expect(answer).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(sentence) });
  expect(answer.stderr.trimEnd().split("\n")).toHaveLength(1);
});

test.each(["validate", "merge", "preview", "diff"])("%s --help explains itself", async (command) => {
  const { code, stdout } = await call(command, "--help");
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage:\n  drawbridge ignition ${command}`);
});
