import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { appLayer } from "./app-layer.js";
import { layer } from "./layer.js";

const about = { name: "drawbridge", version: "1.2.3", license: "Apache-2.0" };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "db-app-layer-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A checkout with a bundle that one package went into. */
function checkout(name: string): string {
  const root = join(folder, name);
  const write = (path: string, text: string) => {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("LICENSE", "ours");
  write("dist/bundle/drawbridge.js", "run()");
  write("dist/bundle/proxy-agent.cjs", "run()");
  write("dist/bundle/drawbridge.js.map", JSON.stringify({ sources: ["../../node_modules/part/index.js"] }));
  write("dist/page/index.html", "<html></html>");
  write("dist/man/drawbridge.1", ".TH DRAWBRIDGE 1");
  write(
    "dist/page/page.js.map",
    JSON.stringify({ sources: ["../../page/main.tsx", "../../node_modules/paint/i.mjs"] }),
  );
  write("node_modules/paint/package.json", JSON.stringify({ name: "paint", version: "7.8.9", license: "MIT" }));
  write("node_modules/part/package.json", JSON.stringify({ name: "part", version: "4.5.6", license: "MIT" }));
  write("node_modules/part/LICENSE", "theirs");
  return root;
}

const bytesOf = (root: string): Buffer => Buffer.concat([...layer(appLayer(root, about).entries)]);

test("every program is under OpenShift's path and under upstream's", () => {
  const entries = new Map(appLayer(checkout("one"), about).entries.map((entry) => [entry.path, entry]));
  const programs = ["drawbridge", "proxy-server", "proxy-agent"];
  for (const name of [...programs, "konnectivity-socks5-proxy", "konnectivity-https-proxy"]) {
    const script = entries.get(`usr/bin/${name}`);
    expect(script?.mode).toBe(0o755);
    const load =
      name === "drawbridge"
        ? 'import("/opt/drawbridge/bundle/drawbridge.js")'
        : `require("/opt/drawbridge/bundle/${name}.cjs")`;
    expect(script?.content?.toString()).toMatch(/^#!\/usr\/bin\/node\n/);
    expect(script?.content?.toString()).toContain(load);
    expect(entries.get(name)).toMatchObject({ linkTo: `usr/bin/${name}` });
  }
});

test("what is called /bin/sh is run by Node", () => {
  const found = appLayer(checkout("one"), about).entries.find(({ path }) => path === "bin/sh");
  expect(found?.mode).toBe(0o755);
  expect(found?.content?.toString()).toMatch(/^#!\/usr\/bin\/node\n/);
});

test("names and licences of what went into the bundle come along, source maps do not", () => {
  const { entries, components } = appLayer(checkout("one"), about);
  expect(components.map(({ name, version }) => `${name} ${version}`)).toEqual([
    ...["drawbridge 1.2.3", "paint 7.8.9", "part 4.5.6"],
  ]);
  const paths = entries.map(({ path }) => path);
  expect(paths).toContain("usr/share/doc/drawbridge/npm/part@4.5.6/LICENSE");
  expect(paths).toContain("opt/drawbridge/page/index.html");
  expect(paths).toContain("opt/drawbridge/bundle/proxy-agent.cjs");
  expect(paths).toContain("usr/share/man/man1/drawbridge.1");
  expect(paths.filter((path) => path.endsWith(".map"))).toEqual([]);
});

test("where the checkout is, when its files were written and who may read them makes no difference", () => {
  const [one, two] = [checkout("one"), checkout("another/place")];
  for (const entry of readdirSync(two, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    chmodSync(path, entry.isDirectory() ? 0o700 : 0o600);
    utimesSync(path, 1, 1);
  }
  expect(bytesOf(one).equals(bytesOf(two))).toBe(true);
  writeFileSync(join(two, "dist/bundle/drawbridge.js"), "walk()");
  expect(bytesOf(one).equals(bytesOf(two))).toBe(false);
});
