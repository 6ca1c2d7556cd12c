import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { createAuthority, issueCertificate } from "../pki/issue.js";
import { inClusterEndpoint } from "./in-cluster.js";
import { kubeconfigEndpoint } from "./kubeconfig.js";
import { openKubeApi } from "./open.js";
import { ApiStub, reply } from "./testing/api-stub.js";

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
  it("gives the current context's server and credentials", async () => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const endpoint = await kubeconfigEndpoint(
      kubeconfig(
        { token: "secret", "client-certificate-data": base64("CERT"), "client-key-data": base64("KEY"), as: "root" },
        {
          "certificate-authority-data": base64("CA"),
          "tls-server-name": "name.test",
          "insecure-skip-tls-verify": true,
        },
      ),
    );
    expect(endpoint.server).toBe("https://api.test:6443");
    expect(await endpoint.credentials()).toEqual({
      headers: { authorization: "Bearer secret", "impersonate-user": "root" },
      tls: { ca: "CA", cert: "CERT", key: "KEY", servername: "name.test", rejectUnauthorized: false },
    });
  });

  it("reads files next to the kubeconfig, again each time", async () => {
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

  it("asks the credential plugin it names", async () => {
    const answer = JSON.stringify({ status: { token: "from-plugin", clientCertificateData: "C", clientKeyData: "K" } });
    const plugin = put(
      "plugin.sh",
      `#!/bin/sh\n[ "$1" = login ] && [ "$WHO" = me ] && [ -n "$KUBERNETES_EXEC_INFO" ] && echo '${answer}'\n`,
    );
    chmodSync(plugin, 0o700);
    const exec = { command: plugin, args: ["login"], env: [{ name: "WHO", value: "me" }] };
    const endpoint = await kubeconfigEndpoint(kubeconfig({ exec }));
    expect(await endpoint.credentials()).toEqual({
      headers: { authorization: "Bearer from-plugin" },
      tls: { cert: "C", key: "K" },
    });
    const broken = await kubeconfigEndpoint(kubeconfig({ exec: { command: join(dir, "missing") } }));
    await expect(broken.credentials()).rejects.toThrow(/credential plugin .*missing failed: .*ENOENT/);
  });

  it.each<[string, () => string, RegExp]>([
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
    ["a proxy", () => kubeconfig({}, { "proxy-url": "http://p" }), /proxy-url of cluster "c1" is not supported/],
    ["an old auth-provider", () => kubeconfig({ "auth-provider": { name: "oidc" } }), /auth-provider "oidc"/],
  ])("says what is wrong with %s", async (_, make, sentence) => {
    await expect(kubeconfigEndpoint(make())).rejects.toMatchObject({
      code: "DB_KUBECONFIG",
      message: expect.stringMatching(sentence),
    });
  });

  it("does not quote the file in an error about its grammar", async () => {
    const file = put("kubeconfig", "users:\n- name: u\n  user: {token: tellnobody, token: [}\n");
    const error: Error = await kubeconfigEndpoint(file).then(
      () => expect.fail("that is no YAML"),
      (reason) => reason,
    );
    expect(error.message).toMatch(/not valid YAML: .*line 3/);
    expect(error.message + String(error.cause)).not.toContain("tellnobody");
  });

  it("carries its certificates to an API server that asks for them", async () => {
    const authority = await createAuthority({ commonName: "cluster" });
    const server = await issueCertificate(authority, {
      profile: "server",
      commonName: "api",
      ipAddresses: ["127.0.0.1"],
    });
    const client = await issueCertificate(authority, { profile: "client", commonName: "proxy-server" });
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
  it("takes the address from the environment and reads the token anew each time", async () => {
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

  it("says so outside a pod", () => {
    expect(() => inClusterEndpoint({}, dir)).toThrow(
      expect.objectContaining({ code: "DB_KUBECONFIG", message: expect.stringContaining("does not run in a pod") }),
    );
  });
});
