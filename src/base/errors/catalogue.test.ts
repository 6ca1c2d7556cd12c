import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { remedies } from "./catalogue.js";

interface Section {
  readonly meaning: string;
  readonly parts: ReadonlyMap<string, string>;
}

/** docs/errors.md by code: the sentence under each heading and its Cause, Check and Remedy. */
function documented(): Map<string, Section> {
  const text = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const sections = new Map<string, Section>();
  for (const block of text.split(/^### /m).slice(1)) {
    const [code = "", ...rest] = block.split("\n");
    const body = rest.join("\n").split(/^## /m, 1)[0] ?? "";
    const parts = new Map<string, string>();
    for (const [, name = "", content = ""] of body.matchAll(/^- \*\*(\w+):\*\* (.+)$/gm)) parts.set(name, content);
    if (sections.has(code)) throw new Error(`docs/errors.md explains ${code} twice`);
    sections.set(code, { meaning: body.trim().split("\n", 1)[0] ?? "", parts });
  }
  return sections;
}

const entries = Object.entries(remedies);

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The paths below a folder whose names match. */
function files(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => pattern.test(name) && !name.includes("node_modules"))
    .map((name) => join(folder, name));
}

/** Every code in the texts, with a file that has it. */
function mentioned(paths: readonly string[], pattern: RegExp): Map<string, string> {
  const found = new Map<string, string>();
  for (const path of paths) {
    for (const [, code = ""] of readFileSync(join(ROOT, path), "utf8").matchAll(pattern)) found.set(code, path);
  }
  return found;
}

const isProduct = (path: string) => !/catalogue\.ts$|\.(test|fuzz)\.ts$|\/testing\//.test(path);
const inSource = mentioned(files("src", /\.tsx?$/).filter(isProduct), /"(DB_[A-Z_]+)"/g);

describe("error codes", () => {
  test.each(entries)("%s is spelt like a code and speaks in whole sentences", (code, remedy) => {
    expect(code).toMatch(/^DB_[A-Z]+(_[A-Z]+)*$/);
    for (const sentence of [documented().get(code)?.meaning, remedy]) expect(sentence).toMatch(/^[A-Z].*\.$/);
  });

  test.each(entries)("%s is used by the source, outside of the catalogue", (code) => {
    expect(inSource.has(code)).toBe(true);
  });

  test("the source uses no code that the catalogue does not have", () => {
    expect([...inSource].filter(([code]) => !(code in remedies))).toEqual([]);
  });

  test("a link to a code in docs/errors.md leads somewhere", () => {
    const pages = [...files("docs", /\.md$/), ...files("alerts", /\.(md|ya?ml|ts)$/), "README.md", "CONTRIBUTING.md"];
    const linked = mentioned(pages, /(?:errors\.md|\]\()#(db_[a-z_]+)/g);
    expect(linked.size).toBeGreaterThan(5);
    expect([...linked].filter(([code]) => !(code.toUpperCase() in remedies))).toEqual([]);
  });

  test("a code that a page names is one of the catalogue", () => {
    const named = mentioned(files("docs", /\.md$/), /\b(DB_[A-Z]+(?:_[A-Z]+)*)\b(?![_*])/g);
    expect([...named].filter(([code]) => !(code in remedies))).toEqual([]);
  });

  test("docs/errors.md explains every code, in the order of the catalogue", () => {
    expect([...documented().keys()]).toEqual(Object.keys(remedies));
  });

  test.each(entries)("%s has its meaning, cause, check and remedy in docs/errors.md", (code, remedy) => {
    const section = documented().get(code);
    expect([...(section?.parts.keys() ?? [])]).toEqual(["Cause", "Check", "Remedy"]);
    for (const part of section?.parts.values() ?? []) expect(part).toMatch(/^[A-Z`"].{10,}[.`?:)]$/);
    expect(section?.parts.get("Remedy")?.startsWith(remedy)).toBe(true);
  });
});
