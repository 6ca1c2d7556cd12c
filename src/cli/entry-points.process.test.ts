/** The executables as processes: what they print, where, and the code they end with. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { certificatesFor, writePki } from "../tunnel/pki/write-pki.js";

/** A process takes its time to start where others work, too. */
vi.setConfig({ testTimeout: 90_000 });

function run(name: string, ...argv: string[]) {
  return runWith({}, name, ...argv);
}

function runWith(env: Readonly<Record<string, string>>, name: string, ...argv: string[]) {
  const module = fileURLToPath(new URL(`${name}.ts`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", module, ...argv], {
    encoding: "utf8",
    timeout: 60_000,
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr };
}

test.each([
  ["proxy-server", [], 1],
  ["proxy-agent", [], 1],
  ["drawbridge", ["server"], 2],
  ["drawbridge", ["agent"], 2],
])("%s %j: an unknown flag is one line on stderr and exit code %i", (name, command, status) => {
  const result = run(name, ...command, "--x");
  expect(result).toMatchObject({ status, stdout: "" });
  expect(result.stderr).toMatch(/^Error: unknown flag: --x \(DB_FLAG_UNKNOWN: [^\n]+\)\n$/);
});

test.each([
  ["proxy-server", ["--help"], "Usage:\n  proxy-server [flags]\n"],
  ["drawbridge", ["agent", "-h"], "Usage:\n  drawbridge agent [flags]\n"],
  ["drawbridge", [], "Usage:\n  drawbridge COMMAND [flags]\n"],
  ["drawbridge", ["--help"], "\n  server   "],
])("%s %j prints help and ends well", (name, argv, text) => {
  const result = run(name, ...argv);
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(result.stdout).toContain(text);
});

test.each([
  ["drawbridge", /^drawbridge \d+\.\d+\.\d+ \(Node [\d.]+, \w+-\w+\)\n$/],
  ["proxy-server", /^proxy-server \d+\.\d+\.\d+ \(drawbridge, Node /],
  ["proxy-agent", /^proxy-agent \d+\.\d+\.\d+ \(drawbridge, Node /],
  ["konnectivity-socks5-proxy", /^konnectivity-socks5-proxy \d+\.\d+\.\d+ \(drawbridge, Node /],
  ["konnectivity-https-proxy", /^konnectivity-https-proxy \d+\.\d+\.\d+ \(drawbridge, Node /],
])("%s --version", (program, text) => {
  const result = run(program, "--version");
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(result.stdout).toMatch(text);
});

test("help is coloured only where that is asked for", () => {
  const heading = "\u001b[1mUsage:\u001b[0m";
  expect(run("drawbridge", "version", "--help").stdout).not.toContain(heading);
  process.env.FORCE_COLOR = "1";
  try {
    expect(run("drawbridge", "help", "version").stdout).toContain(heading);
  } finally {
    delete process.env.FORCE_COLOR;
  }
});

test.each([
  ["bridge", 'Error: unknown command: "bridge"; drawbridge --help lists what there is (DB_FLAG_UNKNOWN'],
  ["--bridge", "Error: unknown flag: --bridge; drawbridge --help lists what there is (DB_FLAG_UNKNOWN"],
])("drawbridge %s is misuse", (word, message) => {
  const result = run("drawbridge", word);
  expect(result.status).toBe(2);
  expect(result.stderr).toContain(message);
});

test.each([
  ["", "KUBECONFIG is empty"],
  ["/nowhere/kubeconfig", "/nowhere/kubeconfig"],
])("HyperShift's proxies end at the start with KUBECONFIG=%s", async (KUBECONFIG, complaint) => {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-kubeconfig-"));
  try {
    const options = { namespace: "clusters-demo", externalAddresses: ["192.0.2.10"] };
    await writePki(dir, await certificatesFor("hosted", options), { keepSignerKeys: false });
    const client = join(dir, "konnectivity-client");
    const files = [`--tls-cert-path=${client}.crt`, `--tls-key-path=${client}.key`];
    const flags = ["run", ...files, `--ca-cert-path=${join(dir, "konnectivity-ca-bundle.crt")}`];
    const { status, stderr } = runWith(
      { KUBECONFIG, KUBERNETES_SERVICE_HOST: "" },
      "konnectivity-socks5-proxy",
      ...flags,
    );
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(complaint) });
    expect(stderr).toContain("DB_KUBECONFIG");
  } finally {
    rmSync(dir, { recursive: true });
  }
});
