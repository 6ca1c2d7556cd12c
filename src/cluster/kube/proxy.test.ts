import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startHttpProxy } from "../../../test/support/sidecar/http-proxy.js";
import { createAuthority, issueCertificate } from "../../tunnel/pki/issue.js";
import { createKubeApi } from "./client.js";
import { ApiStub, reply } from "./testing/api-stub.js";
import { startSocks5Proxy } from "./testing/socks5-proxy.js";

let stub: ApiStub;
let ca: string;
const endings: (() => Promise<void> | void)[] = [];

beforeEach(async () => {
  const authority = await createAuthority({ commonName: "cluster" });
  ca = authority.certificatePem;
  const server = await issueCertificate(authority, { use: "server", commonName: "api", dnsNames: ["api.test"] });
  stub = await ApiStub.start(
    ({ message }, response) => reply(response, 200, { kind: String((message.socket as TLSSocket).servername) }),
    { cert: server.certificatePem, key: server.privateKeyPem },
  );
  endings.push(() => stub.close());
});
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

/** Asks for an object of `api.test`, whose name only the proxy knows. */
async function ask(proxy: string | undefined, env = {}): Promise<unknown> {
  const credentials = async () => ({ headers: {}, proxy, tls: { ca } });
  const api = createKubeApi({ server: "https://api.test:6443", credentials }, { env });
  endings.push(() => api.close());
  return api.get("/who", { timeoutMs: 10_000 });
}

const local = () => stub.url.slice("https://".length);

describe("an API server behind a proxy", () => {
  test("is reached by CONNECT, with the proxy's user name and password", async () => {
    const proxy = await startHttpProxy({ login: "me:p@ss", routes: { "api.test:6443": local() } });
    endings.push(() => proxy.close());
    expect(await ask(`http://me:p%40ss@127.0.0.1:${proxy.port}`)).toEqual({ kind: "api.test" });
    expect(proxy.lines).toEqual(["CONNECT api.test:6443 HTTP/1.1"]);
    await expect(ask(`http://127.0.0.1:${proxy.port}`)).rejects.toThrow(
      /through the proxy 127\.0\.0\.1:\d+ of proxy-url: it answered CONNECT with 407/,
    );
  });

  test.each([
    ["without a login", undefined, "127.0.0.1"],
    ["with a login", "me:secret", "me:secret@127.0.0.1"],
  ])("is reached by SOCKS5 %s, by its name", async (_, login, authority) => {
    const proxy = await startSocks5Proxy({ login, routes: { "api.test:6443": local() } });
    endings.push(() => proxy.close());
    expect(await ask(`socks5://${authority}:${proxy.port}`)).toEqual({ kind: "api.test" });
  });

  test("is not reached where nothing listens at proxy-url, and that is what has to be corrected", async () => {
    await expect(ask("http://127.0.0.1:1")).rejects.toMatchObject({
      code: "DB_API_PROXY",
      message: expect.stringMatching(/through the proxy 127\.0\.0\.1:1 of proxy-url: .*nothing listens there/),
    });
  });

  test("is not reached when the SOCKS5 proxy refuses the password or the target", async () => {
    const proxy = await startSocks5Proxy({ login: "me:secret", routes: {} });
    endings.push(() => proxy.close());
    await expect(ask(`socks5://me:wrong@127.0.0.1:${proxy.port}`)).rejects.toThrow(
      /refused the user name and password/,
    );
    await expect(ask(`socks5://me:secret@127.0.0.1:${proxy.port}`)).rejects.toThrow(/refused .* SOCKS5 code 4/);
    await expect(ask(`socks5://127.0.0.1:${proxy.port}`)).rejects.toThrow(/another kind of authentication/);
  });

  test.each(["ftp://proxy.test", "nonsense"])("is not looked for behind %s", async (proxy) => {
    await expect(ask(proxy)).rejects.toThrow(
      /proxy-url of the kubeconfig is not the address of an http, https or socks5/,
    );
  });
});

describe("HTTPS_PROXY", () => {
  const proxied = async () => {
    const proxy = await startHttpProxy({ routes: { "api.test:6443": local() } });
    endings.push(() => proxy.close());
    return `http://127.0.0.1:${proxy.port}`;
  };

  test("leads to an API server whose kubeconfig names no proxy, as it does for kubectl", async () => {
    expect(await ask(undefined, { HTTPS_PROXY: await proxied() })).toEqual({ kind: "api.test" });
  });

  test("does not count where the kubeconfig names a proxy, or NO_PROXY the server", async () => {
    expect(await ask(await proxied(), { HTTPS_PROXY: "http://127.0.0.1:1" })).toEqual({ kind: "api.test" });
    const env = { https_proxy: await proxied(), no_proxy: "api.test" };
    await expect(ask(undefined, env)).rejects.toMatchObject({ code: "DB_API_UNREACHABLE" });
  });

  test("is what has to be corrected where nothing listens there, and its login is not repeated", async () => {
    await expect(ask(undefined, { HTTPS_PROXY: "http://me:hunter2@127.0.0.1:1" })).rejects.toMatchObject({
      code: "DB_HTTPS_PROXY",
      message: expect.stringMatching(/^(?!.*hunter2).*through the proxy 127\.0\.0\.1:1 of HTTPS_PROXY: /),
    });
  });
});
