/** `npm run pack`, and what comes out of it in the hands of its users. */
import { readFileSync, statSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildImage, DEFAULT_NAME } from "../../image/image.js";
import { about, root } from "../../image/project.js";
import { NAMES } from "../../pack/pack.js";
import { equipped } from "../support/lab/equipment.js";
import { must, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { importImage, installExecutable, installTarball, NOBODY } from "./pack-forms.js";
import { smoke } from "./pack-smoke.js";

const ready = await equipped({ bridge: true });
const VERSION = new RegExp(
  `^drawbridge ${about.version} \\(commit [0-9a-f]{12}(-dirty)?, Node [0-9.]+, linux-x64\\)\\n$`,
);
const WORKS = {
  health: expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nok$/),
  page: expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n[\s\S]*<!doctype html>/i),
};

describe.skipIf(!ready)("npm run pack", () => {
  let scope: Scope;
  let packed: string;
  const bytesOf = (name: string): Buffer => readFileSync(join(packed, name));

  beforeAll(async () => {
    scope = new Scope("pack");
    packed = scope.file("out");
    await must([process.execPath, "scripts/with-tsx.mjs", "pack/main.ts", "--out", packed], { timeoutMs: 240_000 });
  });
  afterAll(() => scope?.close());

  test("makes every form, with checksums that sha256sum confirms", async () => {
    const checked = await must(["sh", "-c", `cd ${packed} && sha256sum --check --strict ${NAMES.checksums}`]);
    const files = Object.values(NAMES).filter((name) => name !== NAMES.checksums);
    expect(checked.trimEnd().split("\n").sort()).toEqual(files.map((name) => `${name}: OK`).sort());
  });

  test("the tarball holds no tests, and nothing holds a path of this machine", async () => {
    const names = (await must(["tar", "-tzf", join(packed, NAMES.tarball)])).trimEnd().split("\n");
    expect(names).toContain("package/dist/bin/drawbridge");
    expect(names).toContain("package/docs/install.md");
    expect(names).toContain("package/dist/man/drawbridge-pki.1");
    expect(names.filter((name) => /\.(test|fuzz)\.|\/testing\/|\/test\//.test(name))).toEqual([]);
    for (const bytes of [gunzipSync(bytesOf(NAMES.tarball)), bytesOf(NAMES.executable), bytesOf(NAMES.image)]) {
      for (const folder of [root, `${homedir()}/`, `${tmpdir()}/db-`]) expect(bytes.includes(folder)).toBe(false);
    }
  });

  test("the tarball installs into an empty folder and works there: npx, the smoke story, the library", async () => {
    const form = await installTarball(scope, packed);
    const there = (line: string) => must(["sh", "-c", `cd ${form.folder} && ${line}`]);
    expect(await there("npx --no-install drawbridge --version")).toMatch(VERSION);
    expect(await smoke(scope, form)).toMatchObject(WORKS);
    const program = 'import { ProxyServer } from "drawbridge"; console.log(typeof ProxyServer.prototype.start);';
    expect(await there(`node --input-type=module -e '${program}'`)).toBe("function\n");
  });

  test("the executable needs no Node, goes by the name it is called, and loads what is lazy", async () => {
    const form = installExecutable(scope, packed);
    expect(await must(form.command("drawbridge", "--version"))).toMatch(VERSION);
    for (const name of ["proxy-server", "proxy-agent", "konnectivity-socks5-proxy", "konnectivity-https-proxy"]) {
      expect(await must(form.command(name, "--help"))).toContain(`\nUsage:\n  ${name} [flags]\n`);
      const command = name.replace("proxy-", name.startsWith("proxy-") ? "" : "proxy-");
      expect(await must(form.command("drawbridge", command, "--help"))).toContain(`drawbridge ${command} [flags]\n`);
    }
    // Issues certificates, too, which is one of the lazy parts. Another is the Kubernetes client:
    expect(await smoke(scope, form)).toMatchObject(WORKS);
    const kubeconfig = join(root, "test", "e2e", "pack-kubeconfig.yaml");
    const lost = await run(form.command("drawbridge", "csr", "list", "--kubeconfig", kubeconfig));
    expect(lost).toMatchObject({ code: 1, stdout: "" });
    expect(lost.stderr).toMatch(
      /^Error: The Kubernetes API at https:\/\/127\.0\.0\.1:1 did not answer .*DB_API_UNREACHABLE/,
    );
  });

  test("the executable loses nothing on the way out: slow pipes, closed pipes, full disks", async () => {
    const vitest = [process.execPath, "node_modules/vitest/vitest.mjs", "run", "--project", "processes"];
    const rows = ["test/processes/output.test.ts", "test/processes/full-disk.test.ts"];
    const env = { DRAWBRIDGE_EXECUTABLE: join(packed, NAMES.executable), NO_COLOR: "1", FORCE_COLOR: "0" };
    const { code, stdout, stderr } = await run([...vitest, ...rows], { env, timeoutMs: 560_000 });
    expect({ code, failed: stdout.match(/^.*(FAIL|Error:).*$/gm), stderr }).toEqual({
      code: 0,
      failed: null,
      stderr: "",
    });
    expect(stdout).toMatch(/Tests +\d{3,} passed/);
  }, 600_000);

  test("containerd imports the image, and runc runs it as nobody, by upstream's paths and by OpenShift's", async () => {
    const form = await importImage(scope, packed, DEFAULT_NAME);
    const paths = { drawbridge: "/drawbridge", "proxy-server": "/proxy-server", "proxy-agent": "/usr/bin/proxy-agent" };
    const command = (program: string, ...args: string[]) => form.command(paths[program as keyof typeof paths], ...args);
    expect(await smoke(scope, { ...form, command })).toMatchObject(WORKS);
    const key = statSync(join(form.folder, "pki", "server.key"));
    expect({ uid: key.uid, gid: key.gid }).toEqual({ uid: NOBODY, gid: NOBODY });
    expect(await must(form.command("/konnectivity-socks5-proxy", "--help"))).toContain(
      "konnectivity-socks5-proxy [flags]",
    );
  });

  test("the image comes out the same under another umask", async () => {
    const before = process.umask(0o077);
    try {
      const again = scope.file("again.tar");
      await buildImage({ out: again });
      expect(readFileSync(again).equals(bytesOf(NAMES.image))).toBe(true);
    } finally {
      process.umask(before);
    }
  });

  test("the bill of materials names everything that is in the image", async () => {
    const { components } = JSON.parse(bytesOf(NAMES.sbom).toString("utf8")) as { components: Listed[] };
    const shipped = components.filter(({ properties }) => properties.some(({ value }) => value === "image"));
    const inside = JSON.parse(await contentsOf(join(packed, NAMES.image))) as Listed[];
    const names = (list: readonly Listed[]) => list.map(({ name, version }) => `${name} ${version}`).sort();
    expect(names(shipped)).toEqual(names(inside.filter(({ name }) => name !== about.name)));
    expect(shipped.length).toBeGreaterThan(10);
  });
});

interface Listed {
  readonly name: string;
  readonly version: string;
  readonly properties: readonly { readonly value: string }[];
}

/** The list that the image carries itself, out of its second layer. */
async function contentsOf(archive: string): Promise<string> {
  const read = (name: string) => must(["tar", "-xOf", archive, name]);
  const blob = (digest: string) => `blobs/${digest.replace(":", "/")}`;
  const [{ digest }] = JSON.parse(await read("index.json")).manifests;
  const { layers } = JSON.parse(await read(blob(digest)));
  const inner = `tar -xOf ${archive} ${blob(layers[1].digest)} | tar -xOf - usr/share/doc/drawbridge/contents.json`;
  return must(["sh", "-c", inner]);
}
