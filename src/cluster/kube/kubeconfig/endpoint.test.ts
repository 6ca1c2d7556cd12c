import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { inClusterEndpoint } from "../endpoint.js";
import { openKubeApi } from "../open.js";
import { ApiStub, reply } from "../testing/api-stub.js";
import { kubeconfigEndpoint } from "./endpoint.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-kube-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function kubeconfig(user: object, cluster: object = {}, changes: object = {}): string {
  return put(
    "kubeconfig",
    stringify({
      apiVersion: "v1",
      kind: "Config",
      "current-context": "here",
      contexts: [
        { name: "elsewhere", context: { cluster: "c2", user: "u" } },
        { name: "here", context: { cluster: "c1", user: "u" } },
      ],
      clusters: [
        { name: "c1", cluster: { server: "https://api.test:6443/", ...cluster } },
        { name: "c2", cluster: { server: "https://other.test" } },
      ],
      users: [{ name: "u", user }],
      ...changes,
    }),
  );
}

describe("kubeconfig", () => {
  test("gives the current context's server and credentials", async () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const endpoint = await kubeconfigEndpoint(
      kubeconfig(
        { token: "secret", "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY"), as: "root" },
        {
          "certificate-authority-data": base64("CA"),
          "tls-server-name": "name.test",
        },
      ),
    );
    expect(endpoint.server).toBe("https://api.test:6443");
    expect(await endpoint.credentials()).toEqual({
      headers: { authorization: "Bearer secret", "impersonate-user": "root" },
      tls: { ca: "CA", cert: "CERT", key: "KEY", servername: "name.test" },
    });
  });

  test("reads files next to the kubeconfig, again each time", async () => {
    put("ca.crt", "CA1");
    put("token", "one\n");
    const endpoint = await kubeconfigEndpoint(
      kubeconfig({ tokenFile: "token", token: "ignored" }, { "certificate-authority": "ca.crt" }),
    );
    expect(await endpoint.credentials()).toEqual({ headers: { authorization: "Bearer one" }, tls: { ca: "CA1" } });
    put("ca.crt", "CA2");
    put("token", "two");
    expect(await endpoint.credentials()).toEqual({ headers: { authorization: "Bearer two" }, tls: { ca: "CA2" } });
  });

  test("asks the credential plugin it names", async () => {
    const apiVersion = "client.authentication.k8s.io/v1";
    const status = { token: "from-plugin", clientCertificateData: "C", clientKeyData: "K" };
    const answer = JSON.stringify({ apiVersion, kind: "ExecCredential", status });
    const plugin = put(
      "plugin.sh",
      `#!/bin/sh\n[ "$1" = login ] && [ "$WHO" = me ] && [ -n "$KUBERNETES_EXEC_INFO" ] && echo '${answer}'\n`,
    );
    chmodSync(plugin, 0o700);
    const exec = { apiVersion, command: plugin, args: ["login"], env: [{ name: "WHO", value: "me" }] };
    const endpoint = await kubeconfigEndpoint(kubeconfig({ exec }));
    expect(await endpoint.credentials()).toEqual({
      headers: { authorization: "Bearer from-plugin" },
      tls: { cert: "C", key: "K" },
    });
    const broken = await kubeconfigEndpoint(kubeconfig({ exec: { command: join(dir, "missing") } }));
    await expect(broken.credentials()).rejects.toThrow(/credential plugin .*missing failed: .*ENOENT/);
  });

  test.each<[string, () => string, RegExp]>([
    ["a missing file", () => join(dir, "none"), /kubeconfig .*none cannot be read/],
    ["text that is no mapping", () => put("kubeconfig", "hello"), /not valid YAML: it is not a mapping/],
    [
      "an unknown context",
      () => kubeconfig({}, {}, { "current-context": "gone" }),
      /current-context "gone" is not among/,
    ],
    ["no current context", () => kubeconfig({}, {}, { "current-context": null }), /current-context "" is not among/],
    ["an unknown cluster", () => kubeconfig({}, {}, { clusters: [] }), /cluster "c1" is not among/],
    ["an unknown user", () => kubeconfig({}, {}, { users: [] }), /user "u" is not among/],
    ["a number where a string belongs", () => kubeconfig({ token: 123456 }), /token of user "u" is not a string/],
    [
      "two entries with one name",
      () => kubeconfig({}, {}, { users: [{ name: "u" }, { name: "u" }] }),
      /users has "u" twice/,
    ],
    [
      "a CA that verification would skip",
      () => kubeconfig({}, { "certificate-authority": "ca", "insecure-skip-tls-verify": true }),
      /names a certificate authority and skips verification/,
    ],
    [
      "a token and a username",
      () => kubeconfig({ token: "t", username: "n" }),
      /its user has token and username; remove one/,
    ],
    [
      "a certificate without a key",
      () => kubeconfig({ "client-certificate": "c" }),
      /certificate without a client key/,
    ],
    ["an old auth-provider", () => kubeconfig({ "auth-provider": { name: "oidc" } }), /auth-provider "oidc"/],
  ])("says what is wrong with %s", async (_, make, sentence) => {
    await expect(kubeconfigEndpoint(make())).rejects.toMatchObject({
      code: "DB_KUBECONFIG",
      message: expect.stringMatching(sentence),
    });
  });

  test("merges the files of KUBECONFIG: of what has one name, the first file's counts; missing files are skipped", async () => {
    const first = put("first", stringify({ users: [{ name: "u", user: { token: "first" } }] }));
    const all = kubeconfig({ token: "second" });
    const endpoint = await kubeconfigEndpoint(`${first}:${join(dir, "none")}:${all}`);
    expect(endpoint.server).toBe("https://api.test:6443");
    expect((await endpoint.credentials()).headers).toEqual({ authorization: "Bearer first" });
    await expect(kubeconfigEndpoint(`${dir}/none:${dir}/nor-this`)).rejects.toThrow(
      /None of the kubeconfig files .* exists/,
    );
  });

  test("uses the context that is asked for, and names those there are when it is not among them", async () => {
    const file = kubeconfig({});
    expect((await kubeconfigEndpoint(file, "elsewhere")).server).toBe("https://other.test");
    await expect(kubeconfigEndpoint(file, "gone")).rejects.toThrow(
      /context "gone" is not among its contexts \(elsewhere, here\)/,
    );
  });

  test("reads embedded credentials again when the file changes, and keeps the last good ones while it is broken", async () => {
    const file = kubeconfig({ token: "one" });
    const endpoint = await kubeconfigEndpoint(file);
    const token = async () => (await endpoint.credentials()).headers.authorization;
    kubeconfig({ token: "second" });
    expect(await token()).toBe("Bearer second");
    put("kubeconfig", "half: [");
    expect(await token()).toBe("Bearer second");
    kubeconfig({ token: "three" }, { server: "https://moved.test" });
    expect(await token()).toBe("Bearer three");
    expect(endpoint.server).toBe("https://moved.test");
  });

  test("verifies no certificate when the kubeconfig says so, and goes through the proxy it names", async () => {
    const cluster = { "insecure-skip-tls-verify": true, "proxy-url": "socks5://p.test:1080" };
    const endpoint = await kubeconfigEndpoint(kubeconfig({}, cluster));
    expect(await endpoint.credentials()).toEqual({
      headers: {},
      proxy: "socks5://p.test:1080",
      tls: { rejectUnauthorized: false },
    });
  });

  test("sends groups, uid and extra of the user to impersonate", async () => {
    const endpoint = await kubeconfigEndpoint(
      kubeconfig({ as: "me", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": { "ex.org/x": ["1"] } }),
    );
    expect((await endpoint.credentials()).headers).toEqual({
      "impersonate-user": "me",
      "impersonate-uid": "7",
      "impersonate-group": ["a", "b"],
      "impersonate-extra-ex.org%2fx": ["1"],
    });
  });

  test("does not quote the file in an error about its grammar", async () => {
    const file = put("kubeconfig", "users:\n- name: u\n  user: {token: tellnobody, token: [}\n");
    const error: Error = await kubeconfigEndpoint(file).then(
      () => expect.fail("that is no YAML"),
      (reason) => reason,
    );
    expect(error.message).toMatch(/not valid YAML: .*line 3/);
    expect(error.message + String(error.cause)).not.toContain("tellnobody");
  });

  test("carries its certificates to an API server that asks for them", async () => {
    const authority = await createAuthority({ commonName: "cluster" });
    const server = await issueCertificate(authority, {
      use: "server",
      commonName: "api",
      ipAddresses: ["127.0.0.1"],
    });
    const client = await issueCertificate(authority, { use: "client", commonName: "proxy-server" });
    const stub = await ApiStub.start(
      ({ message }, response) =>
        reply(response, 200, { kind: (message.socket as TLSSocket).getPeerCertificate().subject.CN }),
      {
        ca: authority.certificatePem,
        cert: server.certificatePem,
        key: server.privateKeyPem,
        requestCert: true,
        rejectUnauthorized: true,
      },
    );
    put("ca.crt", authority.certificatePem);
    put("c.crt", client.certificatePem);
    put("c.key", client.privateKeyPem);
    const user = { "client-certificate": "c.crt", "client-key": "c.key" };
    const file = kubeconfig(user, { server: stub.url, "certificate-authority": "ca.crt" });
    const api = await openKubeApi({ kubeconfig: file, qps: 0, burst: 0 });
    try {
      expect(await api.get("/who")).toEqual({ kind: "proxy-server" });
      put("ca.crt", (await createAuthority({ commonName: "stranger" })).certificatePem);
      const later = await openKubeApi({ kubeconfig: file, qps: 0, burst: 0 });
      await expect(later.get("/who")).rejects.toThrow(/did not answer GET \/who: .*certificate/);
    } finally {
      api.close();
      await stub.close();
    }
  });
});

describe("in-cluster access", () => {
  test("takes the address from the environment and reads the token again each time", async () => {
    put("ca.crt", "CA");
    put("token", "one\n");
    const endpoint = inClusterEndpoint({ KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443" }, dir);
    expect(endpoint.server).toBe("https://[fd00::1]:443");
    expect(await endpoint.credentials()).toEqual({ headers: { authorization: "Bearer one" }, tls: { ca: "CA" } });
    put("token", "two");
    expect((await endpoint.credentials()).headers).toEqual({ authorization: "Bearer two" });
    put("token", "\n");
    await expect(endpoint.credentials()).rejects.toThrow(/token file .* is empty/);
  });

  test("refuses outside a pod", () => {
    expect(() => inClusterEndpoint({}, dir)).toThrow(
      expect.objectContaining({ code: "DB_KUBECONFIG", message: expect.stringContaining("does not run in a pod") }),
    );
  });
});
