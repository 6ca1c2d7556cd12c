import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { bootstrapCredential } from "./join.js";
import { Tree } from "./simulate.js";

let folder: string;
let tree: Tree;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "db-credential-"));
  tree = await Tree.at(join(folder, "root"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const kubeconfig = (user: object, cluster: object = {}) =>
  stringify({
    users: [{ name: "a", user }],
    clusters: [{ name: "b", cluster: { server: "https://a.example", ...cluster } }],
  });

describe("the bootstrap kubeconfig of a payload", () => {
  test.each(["/etc/kubernetes/bootstrap-kubeconfig", "/etc/kubernetes/kubeconfig"])("is found at %s", async (path) => {
    await tree.write(path, kubeconfig({ token: "t" }), 0o600);
    expect(await bootstrapCredential(tree)).toBe(join(folder, "root", path));
  });

  test.each([
    ["a program", kubeconfig({ exec: { command: "/bin/sh" } }), "exec"],
    ["a file with a token", kubeconfig({ tokenFile: "/etc/passwd" }), "tokenFile"],
    ["a key on this host", kubeconfig({ "client-key": "/root/.ssh/id_rsa" }), "client-key"],
    ["an authority on this host", kubeconfig({}, { "certificate-authority": "/a" }), "certificate-authority"],
  ])("is not used when it names %s", async (_, text, key) => {
    await tree.write("/etc/kubernetes/kubeconfig", text, 0o600);
    const message = expect.stringContaining(`names ${key}`);
    await expect(bootstrapCredential(tree)).rejects.toMatchObject({ code: "DB_SIMULATE_JOIN", message });
  });

  test.each([
    ["has aliases", "a: &a {exec: {}}\nb: *a\n"],
    ["is broken", "token: [s3cr3t\n"],
  ])("is not used when it %s, and not repeated", async (_, text) => {
    await tree.write("/etc/kubernetes/kubeconfig", text, 0o600);
    const message = "/etc/kubernetes/kubeconfig of the payload is not YAML without aliases";
    await expect(bootstrapCredential(tree)).rejects.toMatchObject({ code: "DB_SIMULATE_JOIN", message });
  });

  test("is looked for behind a link inside the machine, never on this host", async () => {
    const mine = join(folder, "mine");
    writeFileSync(mine, kubeconfig({ token: "of this host" }));
    await tree.symlink("/etc/kubernetes/kubeconfig", mine);
    await expect(bootstrapCredential(tree)).rejects.toThrow("has no bootstrap kubeconfig");
    await tree.write(mine, kubeconfig({ token: "of the payload" }), 0o600);
    expect(await bootstrapCredential(tree)).toBe(join(folder, "root", mine));
    await tree.symlink("/etc/kubernetes/bootstrap-kubeconfig", "kubeconfig");
    expect(await bootstrapCredential(tree)).toBe(join(folder, "root", mine));
  });

  test("is missed where there is none", async () => {
    await expect(bootstrapCredential(tree)).rejects.toMatchObject({ code: "DB_SIMULATE_JOIN" });
  });
});
