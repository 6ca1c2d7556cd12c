/** The real ignition, fetching and writing below a directory, beside what we make of the same config. */
import { spawnSync } from "node:child_process";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { DrawbridgeError } from "../../../src/base/errors/error.js";
import { requireConfig } from "../../../src/cluster/ignition/parse.js";
import { preview } from "../../../src/cluster/ignition/preview/preview.js";
import { render } from "../../../src/cluster/ignition/render.js";
import { inlineContent } from "../../../src/cluster/ignition/resource.js";
import { meaningful } from "./judge.js";
import { referring } from "./references.js";

const ignition = requirePeer("ignition");
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "db-ignition-real-"));
  mkdirSync(join(dir, "root"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function run(stage: "fetch" | "files", text: string): boolean {
  writeFileSync(join(dir, "user.ign"), text);
  const flags = ["--platform=file", `--stage=${stage}`, `--root=${join(dir, "root")}`, "--log-to-stdout"];
  const files = ["config-cache", "state-file", "neednet"].map((name) => `--${name}=${join(dir, name)}`);
  const env = { PATH: process.env.PATH, IGNITION_CONFIG_FILE: join(dir, "user.ign") };
  return spawnSync(ignition!, [...flags, ...files], { env }).status === 0;
}

/** As spec 3.5 and without the references, which its cache keeps. */
function fetched(): unknown {
  const { ignition: settings, ...rest } = JSON.parse(readFileSync(join(dir, "config-cache"), "utf8"));
  return meaningful({ ...rest, ignition: { ...settings, config: {}, version: "3.5.0" } });
}

const rendered = (text: string) =>
  render(requireConfig(text, "it"), (resource, _, what) => inlineContent(resource, what));

describe.skipIf(ignition === undefined)("the real ignition", () => {
  test.each(referring)("puts together what we put together: %s", async (_, text) => {
    if (run("fetch", text)) expect(meaningful(await rendered(text))).toEqual(fetched());
    else await expect(rendered(text)).rejects.toThrow(DrawbridgeError);
  });

  test("writes the tree that preview shows", () => {
    const text = JSON.stringify({
      ignition: { version: "3.2.0" },
      storage: {
        files: [
          { path: "/etc/a/b", mode: 0o640, contents: { source: "data:,hello" } },
          { path: "/etc/c", contents: { source: "data:,x" }, append: [{ source: "data:,yz" }] },
        ],
        directories: [{ path: "/opt/d", mode: 0o700 }, { path: "/opt/e" }],
        links: [{ path: "/etc/l", target: "/etc/c" }],
      },
      systemd: { units: [{ name: "a.service", contents: "[Unit]\nDescription=a\n", enabled: true }] },
    });
    expect([run("fetch", text), run("files", text)]).toEqual([true, true]);
    const { entries, units } = preview(requireConfig(text, "it"));
    expect(entries).toHaveLength(5);
    for (const { path, kind, mode, target, content, appended = [] } of entries) {
      const file = join(dir, "root", path);
      const status = lstatSync(file);
      expect([path, status.isFile(), status.isDirectory()]).toEqual([path, kind === "file", kind === "directory"]);
      if (target !== undefined) expect(readlinkSync(file)).toBe(target);
      if (mode !== undefined) expect([path, status.mode & 0o7777]).toEqual([path, Number.parseInt(mode, 8)]);
      const sizes = [content, ...appended].map((part) => part?.size ?? 0);
      if (kind === "file") expect([path, status.size]).toEqual([path, sizes.reduce((sum, size) => sum + size)]);
    }
    const [unit] = units;
    expect(lstatSync(join(dir, "root/etc/systemd/system", unit!.name)).size).toBe(unit!.size);
  });
});
