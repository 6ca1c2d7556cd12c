import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { openInstallDirectory } from "./install-dir.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-install-dir-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

function machine(name: string, ...addresses: [type: string, address: string][]): void {
  const status = { addresses: addresses.map(([type, address]) => ({ type, address })) };
  const file = `.clusterapi_output/Machine-openshift-cluster-api-guests-${name}.yaml`;
  put(file, stringify({ apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Machine", metadata: { name }, status }));
}

const pem = "-----BEGIN RSA PRIVATE KEY-----\nbm90IGEga2V5\n-----END RSA PRIVATE KEY-----\n";
const state = (priv: unknown) => JSON.stringify({ "*tls.BootstrapSSHKeyPair": { Priv: priv, Pub: "" }, "*x.Y": {} });
const open = () => openInstallDirectory(dir);

describe("an install directory", () => {
  test("gives address, control plane, key and kubeconfig", async () => {
    machine("ocp-x7k-bootstrap", ["InternalIP", "10.0.0.5"], ["ExternalIP", "198.51.100.7"]);
    machine("ocp-x7k-master-1", ["InternalIP", "10.0.0.11"]);
    machine("ocp-x7k-master-0", ["InternalIP", "10.0.0.10"]);
    put(".openshift_install_state.json", state(Buffer.from(pem).toString("base64")));
    put("auth/kubeconfig", "apiVersion: v1\n");
    const found = await open();
    expect(await found.bootstrapHost()).toBe("198.51.100.7");
    expect(await found.controlPlaneHosts()).toEqual(["10.0.0.10", "10.0.0.11"]);
    expect(await found.sshKey()).toBe(pem);
    expect(await found.kubeconfig()).toBe(join(dir, "auth/kubeconfig"));
    expect(found.knownHostsFile).toBe(join(dir, ".drawbridge_known_hosts"));
  });

  test.each<[string, [string, string][], string]>([
    ["a private machine", [["InternalIP", "10.0.0.5"]], "10.0.0.5"],
    [
      "IPv6",
      [
        ["InternalIP", "fe80::1"],
        ["InternalIP", "fd00::5"],
      ],
      "fd00::5",
    ],
    [
      "a name beside a private address",
      [
        ["ExternalDNS", "boot.example.com"],
        ["InternalIP", "10.0.0.5"],
      ],
      "10.0.0.5",
    ],
    ["only a name", [["ExternalDNS", "boot.example.com"]], "boot.example.com"],
  ])("%s", async (_, addresses, expected) => {
    machine("ocp-bootstrap", ...addresses);
    expect(await (await open()).bootstrapHost()).toBe(expected);
  });

  test("of several clusters takes the one that metadata.json names, else none", async () => {
    machine("old-bootstrap", ["ExternalIP", "198.51.100.1"]);
    machine("new-bootstrap", ["ExternalIP", "198.51.100.2"]);
    await expect((await open()).bootstrapHost()).rejects.toThrow(/several clusters \(new, old\)/);
    put("metadata.json", JSON.stringify({ infraID: "new" }));
    expect(await (await open()).bootstrapHost()).toBe("198.51.100.2");
  });
});

describe("an install directory names what is missing in one sentence", () => {
  const refused = { code: "DB_INSTALL_DIR" };

  test("the directory itself", async () => {
    await expect(openInstallDirectory(join(dir, "nowhere"))).rejects.toMatchObject(refused);
    put("file", "");
    await expect(openInstallDirectory(join(dir, "file"))).rejects.toThrow(/is not a directory/);
  });

  test("address, key and kubeconfig, each only when asked for", async () => {
    const found = await open();
    await expect(found.bootstrapHost()).rejects.toThrow(/does not say where the bootstrap machine is/);
    await expect(found.sshKey()).rejects.toThrow(/\.openshift_install_state\.json cannot be read/);
    await expect(found.kubeconfig()).rejects.toThrow(/has no auth\/kubeconfig/);
    expect(await found.controlPlaneHosts()).toEqual([]);
  });

  test.each(["-oProxyCommand=x", "a b", "$(x)", "", "127.0.0.1", 7, null])(
    "an address that ssh must not be given: %j",
    async (address) => {
      machine("ocp-bootstrap", ["ExternalIP", address as string]);
      await expect((await open()).bootstrapHost()).rejects.toMatchObject(refused);
    },
  );

  test("a machine file that is none, and a state file that is none, without quoting it", async () => {
    put(".clusterapi_output/Machine-openshift-cluster-api-guests-x-bootstrap.yaml", "a: [1\nb: }");
    await expect((await open()).bootstrapHost()).rejects.toThrow(/is not a machine/);
    put(".openshift_install_state.json", `{"*tls.BootstrapSSHKeyPair": {"Priv": "c2VjcmV0" broken`);
    const complaint = await (await open()).sshKey().catch((reason: Error) => reason.message);
    expect(complaint).toMatch(/it is not JSON\.$/);
    expect(complaint).not.toMatch(/c2VjcmV0/);
  });

  test.each([undefined, 7, "", Buffer.from("hello").toString("base64")])("a key that is none: %j", async (priv) => {
    put(".openshift_install_state.json", state(priv));
    await expect((await open()).sshKey()).rejects.toThrow(/holds no SSH key/);
  });
});
