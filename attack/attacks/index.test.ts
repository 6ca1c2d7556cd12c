import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { attacks } from "./index.js";

const page = readFileSync(new URL("../../docs/security.md", import.meta.url), "utf8");

test("gives each attack a name of its own and a row in docs/security.md with its result", () => {
  const names = attacks.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const rows = page.split("\n").filter((line) => line.startsWith("| `"));
  const withResult = rows.filter((row) => row.includes("withstood")).map((row) => row.split("`")[1]);
  expect(withResult).toEqual(expect.arrayContaining(names));
});

test("makes every attack on a link also by a hostile server, where a server can make it", () => {
  const bases = attacks.filter(({ name }) => name.endsWith("-agents")).map(({ name }) => name.replace(/-agents$/, ""));
  const onLinks = bases.filter((base) => attacks.some(({ name }) => name === `${base}-grpc`));
  // A server opens no streams and sends no requests.
  const only = ["rapid-reset", "many-streams", "malformed-sessions"];
  for (const base of onLinks.filter((name) => !only.includes(name))) {
    expect(attacks.map(({ name }) => name)).toContain(`${base}-server`);
  }
});
