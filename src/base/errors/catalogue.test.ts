import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type CatalogueEntry, catalogue } from "./catalogue.js";

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

const entries: [string, CatalogueEntry][] = Object.entries(catalogue);

describe("the error catalogue", () => {
  test.each(entries)("%s is spelt like a code and speaks in whole sentences", (code, { meaning, remedy }) => {
    expect(code).toMatch(/^DB_[A-Z]+(_[A-Z]+)*$/);
    for (const sentence of [meaning, remedy]) expect(sentence).toMatch(/^[A-Z].*\.$/);
  });

  test("and docs/errors.md explain the same codes, in the same order", () => {
    expect([...documented().keys()]).toEqual(Object.keys(catalogue));
  });

  test.each(entries)("%s has its meaning, cause, check and remedy in docs/errors.md", (code, { meaning, remedy }) => {
    const section = documented().get(code);
    expect(section?.meaning).toBe(meaning);
    expect([...(section?.parts.keys() ?? [])]).toEqual(["Cause", "Check", "Remedy"]);
    for (const part of section?.parts.values() ?? []) expect(part).toMatch(/^[A-Z`"].{10,}[.`?:)]$/);
    expect(section?.parts.get("Remedy")?.startsWith(remedy)).toBe(true);
  });
});
