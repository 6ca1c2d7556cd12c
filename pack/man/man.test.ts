import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../../image/project.js";
import { text, yesNo } from "../../src/cli/flags/flag.js";
import { manPages } from "./pages.js";
import { manPage } from "./roff.js";

test("a page has name, synopsis, description, flags and examples, and nothing in it is a request by accident", () => {
  const flags = { "dry-run": yesNo("Change nothing."), output: { ...text("A \\ format.", "text"), shorthand: "o" } };
  const page = {
    purpose: "Does it.\n.TH is no request here.\n\n  as: it is",
    words: "FILE",
    examples: ["drawbridge x y"],
    flags,
  };
  const facts = { program: "drawbridge x", summary: "do it", members: [], related: ["drawbridge"], version: "1.2.3" };
  expect(manPage({ ...facts, page }).split("\n")).toEqual([
    '.TH "DRAWBRIDGE\\-X" 1 "" "drawbridge 1.2.3" "drawbridge"',
    ".SH NAME",
    "drawbridge\\-x \\- do it",
    ".SH SYNOPSIS",
    ".B drawbridge x",
    "FILE [flags]",
    ".SH DESCRIPTION",
    "Does it.",
    "\\&.TH is no request here.",
    ".PP",
    ".nf",
    "  as: it is",
    ".fi",
    '.SH "FLAGS"',
    ".TP",
    "\\fB\\-\\-dry\\-run\\fR",
    "Change nothing.",
    ".TP",
    "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIstring\\fR",
    'A \\e format. (default "text")',
    '.SH "EXAMPLES"',
    ".nf",
    ".RS 4",
    "drawbridge x y",
    ".RE",
    ".fi",
    ".SH EXIT STATUS",
    "0 when all is well, 1 when the command failed, 2 when it was called wrongly;",
    "proxy\\-server, proxy\\-agent and the konnectivity proxies end with 1 for both, as the originals do.",
    ".SH SEE ALSO",
    ".BR drawbridge (1)",
    "",
  ]);
});

describe("all pages", () => {
  let folder: string;
  let pages: Map<string, string>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "db-man-"));
    pages = await manPages();
    for (const [name, content] of pages) writeFileSync(join(folder, name), content);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("are those that package.json names", () => {
    const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { man: string[] };
    expect(about.man).toEqual([...pages.keys()].toSorted().map((name) => `./dist/man/${name}`));
  });

  test("are the same in every build", async () => {
    expect(await manPages()).toEqual(pages);
  });

  test("a family has its commands", () => {
    expect(pages.get("drawbridge-pki.1")).toContain('.SH "DRAWBRIDGE PKI INIT"');
  });

  test.skipIf(spawnSync("mandoc", ["-h"]).error !== undefined)("mandoc finds no fault with them", () => {
    const files = [...pages.keys()].map((name) => join(folder, name));
    const { stdout } = spawnSync("mandoc", ["-Tlint", "-Wwarning", ...files], { encoding: "utf8" });
    expect(stdout.split("\n").filter((line) => line !== "" && !line.includes("missing date"))).toEqual([]);
  });
});
