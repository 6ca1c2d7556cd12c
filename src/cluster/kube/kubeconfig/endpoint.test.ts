import { X509Certificate } from "node:crypto";
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

const base64 = (text: string | Buffer) => Buffer.from(text).toString("base64");

function put(name: string, text: string | Buffer): string {
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
    const authority = await createAuthority({ commonName: "cluster" });
    const { certificatePem, privateKeyPem } = await issueCertificate(authority, { use: "client", commonName: "me" });
    const endpoint = await kubeconfigEndpoint(
      kubeconfig(
        {
          token: "secret",
          "client-certificate-data": base64(certificatePem),
          "client-key-data": base64(privateKeyPem),
          as: "root",
        },
        {
          "certificate-authority-data": base64(authority.certificatePem),
          "tls-server-name": "name.test",
        },
      ),
    );
    expect(endpoint.server).toBe("https://api.test:6443");
    expect(await endpoint.credentials()).toEqual({
      headers: { authorization: "Bearer secret", "impersonate-user": "root" },
      tls: { ca: authority.certificatePem, cert: certificatePem, key: privateKeyPem, servername: "name.test" },
    });
  });

  test("reads files next to the kubeconfig, again each time", async () => {
    const [ca1, ca2] = [
      (await createAuthority({ commonName: "one" })).certificatePem,
      (await createAuthority({ commonName: "two" })).certificatePem,
    ];
    put("ca.crt", ca1);
    put("token", "one\n");
    const endpoint = await kubeconfigEndpoint(
      kubeconfig({ tokenFile: "token", token: "ignored" }, { "certificate-authority": "ca.crt" }),
    );
    expect(await endpoint.credentials()).toEqual({ headers: { authorization: "Bearer one" }, tls: { ca: ca1 } });
    put("ca.crt", ca2);
    put("token", "two");
    const second = { headers: { authorization: "Bearer two" }, tls: { ca: ca2 } };
    expect(await endpoint.credentials()).toEqual(second);
    put("ca.crt", "half");
    expect(await endpoint.credentials()).toEqual(second);
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
      /its current-context "gone" is not among its contexts \(elsewhere, here\)/,
    ],
    [
      "no current context",
      () => kubeconfig({}, {}, { "current-context": null }),
      /kubeconfig cannot be used: it has no current-context, and its contexts are elsewhere, here\.$/,
    ],
    [
      "no contexts at all",
      () => kubeconfig({}, {}, { "current-context": null, contexts: [] }),
      /kubeconfig cannot be used: it has no contexts, which say what cluster and what user belong together\.$/,
    ],
    ["an empty file", () => put("kubeconfig", "\n"), /kubeconfig .*kubeconfig cannot be used: it is empty/],
    [
      "a server without a scheme",
      () => kubeconfig({}, { server: "api.test:6443" }),
      /server of its cluster "c1" is "api.test:6443", which is no URL .*; write it as https:\/\/api.test:6443\.$/,
    ],
    ["a server without a host", () => kubeconfig({}, { server: "https://" }), /write it as https:\/\/HOST:PORT\.$/],
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

  test.each<[string, object, string, (file: string) => string]>([
    [
      "none is current",
      { "current-context": null },
      "",
      (file) =>
        `Run kubectl --kubeconfig=${file} config use-context NAME, or name one with --context where the command has it.`,
    ],
    [
      "the current one is not there",
      { "current-context": "gone" },
      "",
      (file) =>
        `Run kubectl --kubeconfig=${file} config use-context NAME, or name one with --context where the command has it.`,
    ],
    ["the given one is not there", {}, "gone", () => "Give --context one of those that the message lists."],
    [
      "there is none",
      { contexts: [] },
      "",
      (file) =>
        `Run kubectl --kubeconfig=${file} config set-context NAME --cluster=c1 --user=u, then config use-context NAME.`,
    ],
  ])("says how to choose a context where %s", async (_, changes, context, remedy) => {
    const file = kubeconfig({}, {}, changes);
    await expect(kubeconfigEndpoint(file, context)).rejects.toMatchObject({ remedy: remedy(file) });
  });

  test("of several files kubectl is told by KUBECONFIG", async () => {
    const files = `${kubeconfig({}, {}, { "current-context": null })}:${put("second", "{}")}`;
    const remedy = expect.stringContaining(`Run KUBECONFIG=${files} kubectl config use-context NAME`);
    await expect(kubeconfigEndpoint(files)).rejects.toMatchObject({ remedy });
  });

  describe("certificates that cannot be used", async () => {
    const authority = await createAuthority({ commonName: "cluster" });
    const me = await issueCertificate(authority, { use: "client", commonName: "me" });
    const other = await issueCertificate(authority, { use: "client", commonName: "other" });
    const der = new X509Certificate(me.certificatePem).raw;
    const pair = { "client-certificate-data": base64(me.certificatePem), "client-key-data": base64(me.privateKeyPem) };

    test.each<[string, () => string, RegExp]>([
      [
        "the key of another certificate",
        () => kubeconfig({ ...pair, "client-key-data": base64(other.privateKeyPem) }),
        /^client-key-data of user "u" in the kubeconfig .*kubeconfig cannot be used: .*does not belong to the certificate in client-certificate-data of user "u"/,
      ],
      [
        "the key file of another certificate",
        () => {
          put("c.crt", me.certificatePem);
          put("c.key", other.privateKeyPem);
          return kubeconfig({ "client-certificate": "c.crt", "client-key": "c.key" });
        },
        /^client-key .*c\.key of user "u" in .*kubeconfig cannot be used: .*does not belong to .*c\.crt/,
      ],
      [
        "a certificate in DER",
        () => {
          put("c.der", der);
          return kubeconfig({ "client-certificate": "c.der", "client-key-data": pair["client-key-data"] });
        },
        /^client-certificate .*c\.der of user "u" .* cannot be used: it is not PEM but a certificate in DER; openssl x509/,
      ],
      [
        "embedded DER",
        () => kubeconfig({ ...pair, "client-certificate-data": base64(der) }),
        /^client-certificate-data of user "u" .* a certificate in DER/,
      ],
      [
        "PEM in place of base64",
        () => kubeconfig({}, { "certificate-authority-data": authority.certificatePem }),
        /^certificate-authority-data of cluster "c1" in the kubeconfig .* is not base64: .*base64 -w0 FILE/,
      ],
      [
        "a CA that kubectl left out",
        () => kubeconfig({}, { "certificate-authority-data": "DATA+OMITTED" }),
        /^certificate-authority-data of cluster "c1" in the kubeconfig .*kubectl config view --raw/,
      ],
      [
        "a CA that is none",
        () => kubeconfig({}, { "certificate-authority-data": base64(me.privateKeyPem) }),
        /^certificate-authority-data of cluster "c1" .*holds no certificate but a PRIVATE KEY/,
      ],
    ])("are said at the start, before anybody is asked: %s", async (_, make, sentence) => {
      await expect(openKubeApi({ kubeconfig: make(), qps: 0, burst: 0 })).rejects.toMatchObject({
        code: "DB_KUBECONFIG",
        message: expect.stringMatching(sentence),
      });
    });
  });

  test("a token that kubectl left out is said before anybody is asked", async () => {
    const api = await openKubeApi({ kubeconfig: kubeconfig({ token: "REDACTED" }), qps: 0, burst: 0 });
    await expect(api.get("/x")).rejects.toMatchObject({
      code: "DB_KUBECONFIG",
      message: expect.stringMatching(/^token of user "u" .* --raw/),
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
