import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseIdentifiers } from "../../wire/identifiers.js";
import { ClaimRulesFile } from "./claims.js";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-claims-"));
  file = join(dir, "rules.yaml");
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Written a minute ago, as far as the file says. */
function write(text: string, path = file): void {
  writeFileSync(path, text);
  const then = Date.now() / 1000 - 60;
  utimesSync(path, then, then);
}

const rule = (claim: string) => `rules:\n  - match: { issuer: "*" }\n    mayClaim: [${claim}]\n`;
const NOBODY = { subject: "", issuer: "", serviceAccount: "" };
const allows = ({ current }: ClaimRulesFile, identifiers: string) =>
  current.refusal(NOBODY, parseIdentifiers(identifiers)) === undefined;

/** A file that is looked at only when a test says so. */
function follow() {
  const news: string[] = [];
  let look = () => {};
  const rules = new ClaimRulesFile(file, {
    onChange: () => news.push("changed"),
    onProblem: ({ code, message }) => news.push(`${code} ${message}`),
    every: (_ms, tick) => {
      look = tick;
      return () => news.push("closed");
    },
  });
  return { rules, news, look: () => look() };
}

describe("claim rules in a file", () => {
  test("are YAML or JSON; a missing or broken file is one sentence at the start", () => {
    write(rule("default-route"));
    expect(allows(follow().rules, "default-route=true")).toBe(true);
    write(JSON.stringify({ rules: [{ match: { issuer: "nobody" }, mayClaim: [] }] }));
    expect(allows(follow().rules, "")).toBe(false);
    write("rules: [");
    expect(follow).toThrow(expect.objectContaining({ code: "DB_CLAIMS_FILE" }));
    rmSync(file);
    expect(follow).toThrow(expect.objectContaining({ code: "DB_CLAIMS_FILE" }));
  });

  test("are read again when the file changes, in place or by a rename", () => {
    write(rule("host=a"));
    const { rules, news, look } = follow();
    write(rule("host=b"));
    look();
    expect([allows(rules, "host=a"), allows(rules, "host=b"), news]).toEqual([false, true, ["changed"]]);
    write(rule("host=c"), `${file}.new`);
    renameSync(`${file}.new`, file);
    look();
    look();
    expect([allows(rules, "host=c"), news]).toEqual([true, ["changed", "changed"]]);
  });

  test.each([
    ["not YAML", "rules: [", "cannot be read"],
    ["without rules", "other: []", "a list named `rules`"],
    ["with a rule that is wrong", rule("planet=mars"), "rule 1 allows"],
  ])("stay the last good ones while the file is %s, which is said once", (_what, text, words) => {
    write(rule("host=a"));
    const { rules, news, look } = follow();
    write(text);
    look();
    look();
    expect(allows(rules, "host=a")).toBe(true);
    expect(news).toEqual([expect.stringMatching(/^DB_CLAIMS_FILE /)]);
    expect(news[0]).toContain(words);
    write(rule("host=b"));
    look();
    expect([allows(rules, "host=b"), news.at(-1)]).toEqual([true, "changed"]);
  });

  test("stay the last good ones while the file is gone", () => {
    write(rule("host=a"));
    const { rules, news, look } = follow();
    rmSync(file);
    look();
    expect([allows(rules, "host=a"), news.length]).toEqual([true, 1]);
    write(rule("host=b"));
    look();
    expect(allows(rules, "host=b")).toBe(true);
  });

  test("wait for a file that is being written: half of it may be good YAML with fewer rules", () => {
    write(rule("host=a"));
    const { rules, news, look } = follow();
    const soon = Date.now() / 1000;
    writeFileSync(file, "rules: []\n");
    utimesSync(file, soon, soon);
    look();
    expect([allows(rules, "host=a"), news]).toEqual([true, []]);
    write(rule("host=b"));
    look();
    expect([allows(rules, "host=b"), news]).toEqual([true, ["changed"]]);
  });

  test("are no longer looked at after the end", () => {
    write(rule("host=a"));
    const { rules, news } = follow();
    rules.close();
    expect(news).toEqual(["closed"]);
  });
});
