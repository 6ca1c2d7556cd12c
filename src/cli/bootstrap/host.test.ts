/** `drawbridge bootstrap up|status|teardown` as they are typed: misuse, refusals and help, none of which touches the host. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { drawbridge } from "../commands.js";

const scratch = mkdtempSync(join(tmpdir(), "drawbridge-host-command-"));
afterAll(() => rmSync(scratch, { recursive: true }));
afterEach(() => {
  vi.unstubAllEnvs();
  expect(readdirSync(scratch)).toEqual([]);
});

async function bootstrap(...argv: string[]) {
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      written[name] += String(text);
      return true;
    });
  }
  const code = await drawbridge.run("drawbridge", ["bootstrap", ...argv]);
  vi.restoreAllMocks();
  return { code, ...written };
}

const places = ["state-dir", "runtime-directory", "config-directory"].map(
  (flag) => `--${flag}=${join(scratch, `drawbridge-${flag}`)}`,
);

describe("misuse ends with 2 and one sentence", () => {
  test.each([
    [["up", "--for-platform=openshift"], /must be one of kubeadm, bare/],
    [["up", "--server=podman"], /must be one of static-pod, systemd, process/],
    [["up", "--for=59s"], /"--for" flag: must be at least 1m0s/],
    [["up", "--timeout=0"], /"--timeout" flag: must be at least 1ms/],
    [["up", "now"], /"now" belongs to no flag/],
    [["up", "--restore-command=x"], /--restore-command belongs to --apply-command/],
    [["up", "--state-dir=/etc"], /"\/etc" cannot be used: it is emptied at teardown/],
    [["up", "--state-dir=drawbridge"], /must be an absolute path/],
    [["up", "--state-dir=/a/../drawbridge"], /must be an absolute path/],
    [["up", "--apply", "--for-platform=bare", "--kubeconfig=/x", ...places], /--apply needs --apply-command here/],
    [["status", "--output=yaml"], /must be one of text, json/],
    [["status", "x"], /"x" belongs to no flag/],
    [["teardown", "x"], /"x" belongs to no flag/],
    [["teardown", "--timeout=-1s"], /"--timeout" flag: must be at least 1ms/],
    [["teardown", `--receipt=${join(scratch, "none/receipt.json")}`], /--receipt .* cannot be written: ENOENT/],
    [["teardown", "--platform=moon"], /must be one of aws, /],
    [["teardown", "--state-dir=/var/lib"], /cannot be used/],
    [["teardown", "--bootstrap=192.0.2.1"], /--bootstrap is for --dir, which is missing/],
    [["teardown", "--dir=/x", "--port=0"], /"--port" flag: must be a port/],
    [["teardown", "--dir=/x", "--for-platform=bare"], /--dir is for OpenShift and excludes --for-platform bare/],
    [["teardown", "--dir=/x", "--restore-command=x"], /--restore-command is for the bridge's own host/],
  ])("%j", async (argv, sentence) => {
    const { code, stdout, stderr } = await bootstrap(...argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Error: [^\n]+\(DB_FLAG_VALUE: [^\n]+\)\n$/);
    expect(stderr).toMatch(sentence);
  });
});

describe("refusals end with 1 and one sentence", () => {
  test.each([
    ["up", ["--address=127.0.0.1", "--kubeconfig=/none"], "DB_ADDRESS_REFUSED"],
    ["up", ["--address=192.0.2.1", "--kubeconfig=/none/admin.conf"], "DB_KUBECONFIG"],
    ["up", ["--address=192.0.2.1", "--kubeconfig=/none", "--image-kind=payload"], "DB_BRIDGE_OPTIONS"],
  ])("%s %j: %s", async (command, words, errorCode) => {
    const { code, stdout, stderr } = await bootstrap(command, "--for-platform=bare", ...places, ...words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(new RegExp(`^Error: [^\\n]+\\(${errorCode}: [^\\n]+\\)\\n$`));
  });

  test("status without a bridge", async () => {
    const { code, stderr } = await bootstrap("status", places[0]!);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: No bridge is recorded in .*\(DB_BRIDGE_ABSENT: /);
  });

  test("teardown with a kubeconfig that cannot be used, before anything is looked at", async () => {
    vi.stubEnv("KUBECONFIG", "/none/admin.conf");
    const { code, stdout, stderr } = await bootstrap("teardown", places[0]!);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("(DB_KUBECONFIG: ");
  });
});

test("an install directory that is none, or has no kubeconfig, is refused before anything is looked at", async () => {
  const none = await bootstrap("teardown", "--dir=/none");
  expect({ code: none.code, stdout: none.stdout }).toEqual({ code: 1, stdout: "" });
  expect(none.stderr).toMatch(/^Error: \/none cannot be used as an install directory.*\(DB_INSTALL_DIR: /);
  expect((await bootstrap("teardown", `--dir=${scratch}`)).stderr).toContain("has no auth/kubeconfig");
});

test.each(["up", "status", "teardown"])("%s --help explains itself", async (command) => {
  const { code, stdout } = await bootstrap(command, "--help");
  expect(code).toBe(0);
  expect(stdout).toContain(`Usage:\n  drawbridge bootstrap ${command} [flags]`);
  expect(stdout).toContain("--state-dir string");
});

test("a missing parent of the state directory is reported, and nothing is made", async () => {
  writeFileSync(join(scratch, "config"), JSON.stringify(kubeconfig));
  const state = `--state-dir=${join(scratch, "none/drawbridge")}`;
  const words = ["--for-platform=bare", "--address=192.0.2.1", `--kubeconfig=${join(scratch, "config")}`, state];
  const { code, stderr } = await bootstrap("up", ...words, ...places.slice(1));
  rmSync(join(scratch, "config"));
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^Error: The bridge's record cannot be used: .* cannot be made: its directory does not exist\./,
  );
});

/** Of a cluster that does not run. */
const kubeconfig = {
  "current-context": "a",
  contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
  clusters: [{ name: "a", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "a", user: { token: "t" } }],
};
