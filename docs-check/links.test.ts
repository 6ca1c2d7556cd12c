/** Links of the pages, and paths that their text names, lead to files that exist. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "image/README.md",
  "test/support/lab/README.md",
  ...readdirSync("docs")
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const LINK = /\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)/g;
const PATH = /`((?:src|test|attack|bench|soak|demo|docs-check|peers)\/[\w./-]+\.(?:ts|sh|md|yaml))`/g;

test.each(PAGES)("every link and every path of %s leads to a file", (page) => {
  const text = readFileSync(page, "utf8");
  const links = [...text.matchAll(LINK)].map(([, link = ""]) => join(dirname(page), link));
  const paths = [...text.matchAll(PATH)].map(([, path = ""]) => path);
  expect([...links, ...paths].filter((path) => !existsSync(path))).toEqual([]);
});

test("docs/README.md leads to every page, once", () => {
  const index = readFileSync("docs/README.md", "utf8");
  const pages = readdirSync("docs").filter((name) => name.endsWith(".md") && name !== "README.md");
  expect(pages.filter((name) => index.split(`](${name})`).length !== 2)).toEqual([]);
});
