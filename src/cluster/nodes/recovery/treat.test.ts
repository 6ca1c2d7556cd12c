import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Ailment, trouble } from "./ailment.js";
import { treat } from "./treat.js";

let folder: string;
let applied: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-treat-"));
  applied = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function ailment(subject: string, result: () => string): Ailment {
  const apply = async () => {
    applied.push(subject);
    return result();
  };
  const about = { id: "node", subject };
  return trouble(about, { code: "DB_NODE_NOT_READY", finding: "it is", fix: { what: `mend ${subject}`, apply } });
}

const logFile = () => join(folder, "log", "fixes.jsonl");
const options = (dryRun = false) => ({ dryRun, logFile: logFile(), now: () => 0 });
const broken = () => {
  throw new Error("it is stuck");
};

describe("fixes", () => {
  test("are logged when they begin and when they end, and one that fails does not stop the next", async () => {
    const done = await treat([ailment("a", broken), ailment("b", () => "mended")], options());
    expect(done.map(({ outcome, said, subject }) => [subject, outcome, said])).toEqual([
      ["a", "failed", "it is stuck"],
      ["b", "done", "mended"],
    ]);
    const lines = readFileSync(logFile(), "utf8").trim().split("\n");
    expect(lines.map((line) => JSON.parse(line)).map(({ outcome, said, subject }) => [subject, outcome, said])).toEqual(
      [
        ["a", "begun", undefined],
        ["a", "failed", "it is stuck"],
        ["b", "begun", undefined],
        ["b", "done", "mended"],
      ],
    );
    expect(statSync(logFile()).mode & 0o777).toBe(0o600);
  });

  test("are only told in a rehearsal", async () => {
    const [one] = await treat([ailment("a", () => "")], options(true));
    expect([one?.outcome, one?.what, applied]).toEqual(["would be done", "mend a", []]);
    expect(() => statSync(logFile())).toThrow("ENOENT");
  });

  test("are not applied without a record", async () => {
    writeFileSync(join(folder, "log"), "in the way");
    await expect(treat([ailment("a", () => "")], options())).rejects.toMatchObject({ code: "DB_FIX_LOG" });
    expect(applied).toEqual([]);
  });
});
