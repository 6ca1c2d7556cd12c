/** `drawbridge hosted` as it is typed: what it prints, where, and the code it ends with. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { certificatesFor, writePki } from "../../tunnel/pki/write-pki.js";
import { drawbridge } from "../commands.js";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-hosted-command-"));
  vi.stubEnv("KUBECONFIG", "");
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
});

async function hosted(...argv: string[]) {
  const written = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    vi.spyOn(process[name], "write").mockImplementation((text) => {
      written[name] += String(text);
      return true;
    });
  }
  const status = await drawbridge.run("drawbridge", ["hosted", ...argv]);
  vi.restoreAllMocks();
  return { status, ...written };
}

const least = ["--name=demo", "--publish=LoadBalancer", "--address=192.0.2.10"];

async function pki(): Promise<string> {
  const dir = join(scratch, "pki");
  const options = { namespace: "clusters-demo", externalAddresses: ["192.0.2.10"] };
  await writePki(dir, await certificatesFor("hosted", options), { keepSignerKeys: true });
  return dir;
}

describe("render", () => {
  test("prints both sides from flags alone, and says that certificates are missing", async () => {
    const { status, stdout, stderr } = await hosted("render", ...least);
    expect(status).toBe(0);
    expect(stderr).toContain("there are no certificates");
    expect(stdout).toContain("kind: DaemonSet");
    expect(stdout).toContain("name: loadbalancer-konnectivity-kas");
    expect(stdout).not.toContain("kind: Secret");
  });

  test("one side as JSON", async () => {
    const { stdout } = await hosted("render", ...least, "--side=hosted", "--output=json");
    const { objects, patches } = JSON.parse(stdout) as { objects: { side: string }[]; patches: unknown[] };
    expect(new Set(objects.map(({ side }) => side))).toEqual(new Set(["hosted"]));
    expect(patches).toEqual([]);
  });

  test("prints keys only when asked, and writes them for the owner only", async () => {
    const dir = await pki();
    const key = readFileSync(join(dir, "konnectivity-agent.key"));
    const hidden = await hosted("render", ...least, `--pki=${dir}`);
    expect(hidden).toMatchObject({ status: 0, stderr: "" });
    expect(hidden.stdout).toContain("<hidden, sha256 ");
    expect(hidden.stdout).not.toContain(key.toString("base64"));
    const shown = await hosted("render", ...least, `--pki=${dir}`, "--show-secrets");
    expect(shown.stdout).toContain(key.toString("base64"));
    const out = join(scratch, "out");
    await hosted("render", ...least, `--pki=${dir}`, `--out=${out}`);
    const secret = join(out, "hosted/secret-konnectivity-agent.yaml");
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    expect(readFileSync(secret, "utf8")).toContain(key.toString("base64"));
    expect(readdirSync(join(out, "patches"))).toContain("kube-apiserver.yaml");
  });

  test("flags win over the file, field by field", async () => {
    const file = join(scratch, "hosted.yaml");
    writeFileSync(file, "name: demo\nreplicas: 5\npublishing: {type: LoadBalancer, address: 192.0.2.1}\n");
    const { stdout } = await hosted("render", `--config=${file}`, "--address=192.0.2.9");
    expect(stdout).toContain("--proxy-server-host=192.0.2.9");
    expect(stdout).toContain("--server-count=5");
  });
});

describe("refusals", () => {
  test.each<[string[], number, string]>([
    [["render"], 1, "name is missing"],
    [["render", ...least, "extra"], 2, '"extra" belongs to no flag'],
    [["render", ...least, "--pki=a", "--kubeconfig=b"], 2, "exclude each other"],
    [["render", "--config=/nowhere.yaml"], 1, "DB_HOSTED_CONFIG"],
    [["render", "--name=demo", "--publish=Route"], 1, "DB_HOSTED_ADDRESS"],
    [["apply", ...least], 2, "--kubeconfig of the management cluster is missing"],
    [["delete", ...least, "--rotate-signers=switch"], 2, "unknown flag: --rotate-signers"],
    [["verify", ...least, "--output=xml"], 2, "must be one of text, json"],
    [["raise"], 2, "unknown command"],
  ])("%j", async (argv, status, complaint) => {
    const answer = await hosted(...argv);
    expect(answer).toMatchObject({ status, stdout: "" });
    expect(answer.stderr).toContain(complaint);
    expect(answer.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("a file that is no YAML is not quoted", async () => {
    const file = join(scratch, "hosted.yaml");
    writeFileSync(file, "proxy: {https: http://me:secret@p:1\n- x");
    const { stderr } = await hosted("render", `--config=${file}`);
    expect(stderr).toContain("cannot be read");
    expect(stderr).not.toContain("secret");
  });

  test("a directory that lacks a certificate writes nothing", async () => {
    const out = join(scratch, "out");
    const { status, stderr } = await hosted("render", ...least, `--pki=${scratch}`, `--out=${out}`);
    expect(status).toBe(1);
    expect(stderr).toContain("konnectivity-");
    expect(existsSync(out)).toBe(false);
  });
});

test("Kamaji's objects are its operator's: render prints a patch for it, apply refuses", async () => {
  const { status, stdout, stderr } = await hosted("render", "--name=demo", "--profile=kamaji");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toContain("kind: TenantControlPlane");
  const refused = await hosted("apply", "--name=demo", "--profile=kamaji", "--kubeconfig=/dev/null");
  expect(refused).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("Kamaji's operator makes these objects"),
  });
});
