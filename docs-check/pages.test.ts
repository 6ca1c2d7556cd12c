/** Nothing in the docs rots silently: each block of commands is run by npm run docs:check, or says why not. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { fixtures } from "./fixtures/index.js";
import { unmarked } from "./page.js";
import { allPages } from "./pages.js";

const pages = allPages();
const all = pages.flatMap(({ file, blocks }) => blocks.map((block) => ({ ...block, at: `${file}:${block.line}` })));

test("every block of commands is checked, or says why not", () => {
  expect(unmarked(all).map((block) => (block as (typeof all)[number]).at)).toEqual([]);
});

test("every marker names a fixture that exists", () => {
  const strays = all.filter(({ marker }) => marker && "fixture" in marker && fixtures[marker.fixture] === undefined);
  expect(strays.map(({ at }) => at)).toEqual([]);
});

test("a reason that names a file names one that exists", () => {
  const named = all.flatMap(({ marker, at }) => {
    const files = marker?.kind === "not checked" ? (marker.reason.match(/\b(?:src|test)\/\S+\.ts\b/g) ?? []) : [];
    return files.map((file) => ({ at, file }));
  });
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter(({ file }) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([]);
});

test("what is said to be printed follows a command", () => {
  const strays = all.filter(({ marker }, index) => {
    return marker?.kind === "prints" && all[index - 1]?.marker?.kind !== "check";
  });
  expect(strays.map(({ at }) => at)).toEqual([]);
});

test.each(["README", "migrating", "seeing", "troubleshooting", "bootstrap", "install-kubeadm", "hosted", "nodes"])(
  "the how-to %s has commands that are run",
  (name) => {
    const page = pages.find((each) => each.name === name);
    expect(page?.blocks.filter(({ marker }) => marker?.kind === "check").length).toBeGreaterThan(0);
  },
);
