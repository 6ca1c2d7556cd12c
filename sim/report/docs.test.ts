import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const page = readFileSync(new URL("../../docs/reliability.md", import.meta.url), "utf8");

/** Of all files of the model, without their tests. */
function sources(): string[] {
  const folder = fileURLToPath(new URL("..", import.meta.url));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !/^(runner|testing)\//.test(file))
    .map((file) => readFileSync(`${folder}/${file}`, "utf8"));
}

test("docs/reliability.md has every property that a world can break, and every kind of fault", () => {
  const properties = sources().flatMap((text) =>
    [...text.matchAll(/\b(?:fail\(\s*|property: )"([^"]+)"/g)].map(([, name]) => name!),
  );
  expect(properties.length).toBeGreaterThan(10);
  for (const name of properties) expect(page).toContain(`| ${name} |`);
  const types = readFileSync(new URL("../types.ts", import.meta.url), "utf8");
  const faults = types.slice(types.indexOf("export type Fault ="), types.indexOf("export interface RunOptions"));
  const kinds = [...faults.matchAll(/kind: "([^"]+)"/g)].map(([, kind]) => kind!);
  expect(kinds.length).toBeGreaterThan(5);
  for (const kind of kinds) expect(page).toContain(`| \`${kind}\` |`);
});
