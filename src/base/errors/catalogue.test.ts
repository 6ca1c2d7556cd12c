import { readFileSync } from "node:fs";
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

describe("error codes", () => {
  test.each(entries)("%s is spelt like a code and speaks in whole sentences", (code, remedy) => {
    expect(code).toMatch(/^DB_[A-Z]+(_[A-Z]+)*$/);
    for (const sentence of [documented().get(code)?.meaning, remedy]) expect(sentence).toMatch(/^[A-Z].*\.$/);
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
