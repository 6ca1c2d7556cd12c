import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { coded, type Finding } from "../../../base/finding.js";
import { applyFixes } from "./fixes.js";

let folder: string;
let applied: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-fixes-"));
  applied = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function finding(subject: string, result: () => string): Finding {
  const apply = async () => {
    applied.push(subject);
    return result();
  };
  const fix = { what: `mend ${subject}`, apply };
  return { check: "node", about: "", ...coded("DB_NODE_NOT_READY", "it is not"), subject, fix };
}

const logFile = () => join(folder, "log", "fixes.jsonl");
const options = (dryRun = false) => ({ dryRun, logFile: logFile(), now: () => 0 });
const broken = () => {
  throw new Error("it is stuck");
};

describe("fixes", () => {
  test("fixes are logged when they begin and when they end, and one that fails does not stop the next", async () => {
    const done = await applyFixes([finding("a", broken), finding("b", () => "mended")], options());
    expect(done.map(({ outcome, result, subject }) => [subject, outcome, result])).toEqual([
      ["a", "failed", "it is stuck"],
      ["b", "done", "mended"],
    ]);
    const lines = readFileSync(logFile(), "utf8").trim().split("\n");
    expect(
      lines.map((line) => JSON.parse(line)).map(({ outcome, result, subject }) => [subject, outcome, result]),
    ).toEqual([
      ["a", "begun", undefined],
      ["a", "failed", "it is stuck"],
      ["b", "begun", undefined],
      ["b", "done", "mended"],
    ]);
    expect(statSync(logFile()).mode & 0o777).toBe(0o600);
  });

  test("fixes are only listed in a dry run", async () => {
    const [one] = await applyFixes([finding("a", () => "")], options(true));
    expect([one?.outcome, one?.what, applied]).toEqual(["would be done", "mend a", []]);
    expect(() => statSync(logFile())).toThrow("ENOENT");
  });

  test("fixes are not applied without a record", async () => {
    writeFileSync(join(folder, "log"), "in the way");
    await expect(applyFixes([finding("a", () => "")], options())).rejects.toMatchObject({ code: "DB_FIX_LOG" });
    expect(applied).toEqual([]);
  });
});
