/** Ways that lead through somebody else's HTTP proxy, or past the tunnel. */
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { readToEnd } from "../../../../test/support/callers/bytes.js";
import { makePki } from "../../../../test/support/processes/certs.js";
import { startHttpProxy } from "../../../../test/support/sidecar/http-proxy.js";
import { startBanner, startEcho } from "../../../../test/support/targets/echo.js";
import { messageOf } from "../../../base/errors/error.js";
import { networkProxyOf } from "../config.js";
import type { RouterParts } from "./router.js";
import { fakeTunnel } from "./testing/fake-tunnel.js";
import { hello, NEVER, nothingHere, useRouters } from "./testing/test-router.js";

const scope = useRouters();
afterEach(() => vi.unstubAllEnvs());

describe("the customer's proxy", () => {
  test("is asked by the target's name, with the login as it was meant, except for what NO_PROXY covers", async () => {
    const echo = scope.use(await startEcho());
    const proxy = scope.use(
      await startHttpProxy({ login: "us@er:p:a/s%s", routes: { "db.example:80": `127.0.0.1:${echo.port}` } }),
    );
    const tunnel = fakeTunnel({ "proxy.corp:3128": proxy.port, "in.example:80": echo.port });
    const httpsProxy = "http://us%40er:p%3Aa%2Fs%25s@proxy.corp:3128";
    const router = scope.router({ httpsProxy, noProxy: "in.example" }, { dialer: tunnel });
    expect(await router.echo("db.example", 80)).toBe("hello");
    expect(await router.echo("in.example", 80)).toBe("hello");
    expect(proxy.lines).toEqual(["CONNECT db.example:80 HTTP/1.1"]);
    expect(proxy.headers[0]?.host).toBe("db.example:80");
    expect(tunnel.dialled).toEqual(["proxy.corp:3128", "in.example:80"]);
    expect(router.routes).toEqual(["customer-proxy db.example:80", "tunnel in.example:80"]);
  });

  test("may speak TLS, signed by an authority of the trust bundle, with early bytes and the end kept", async () => {
    const pki = makePki(scope.tempDir());
    const banner = scope.use(await startBanner("220 ready\n"));
    const routes = { "mail.example:25": `127.0.0.1:${banner.port}` };
    const proxy = scope.use(await startHttpProxy({ tls: pki.webhook, routes }));
    const tunnel = fakeTunnel({ "localhost:3128": proxy.port });
    const customer = { httpsProxy: "https://localhost:3128", proxyTrustBundle: pki.webhook.ca };
    const stream = await scope.router(customer, { dialer: tunnel }).open({ host: "mail.example", port: 25 }, NEVER);
    stream.end("QUIT\n");
    expect(String((await readToEnd(stream)).bytes)).toBe("220 ready\nQUIT\n");
  });

  test("may be signed by an authority that was put into the system's folder, beside files that are broken", async () => {
    const pki = makePki(scope.tempDir());
    const folder = scope.tempDir();
    writeFileSync(join(folder, "broken.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
    copyFileSync(pki.webhook.ca, join(folder, "proxy-trusted-ca.pem"));
    vi.stubEnv("SSL_CERT_DIR", folder);
    const echo = scope.use(await startEcho());
    const routes = { "db.example:80": `127.0.0.1:${echo.port}` };
    const proxy = scope.use(await startHttpProxy({ tls: pki.webhook, routes }));
    const customer = { httpsProxy: "https://localhost:3128" };
    const router = scope.router(customer, { dialer: fakeTunnel({ "localhost:3128": proxy.port }) });
    expect(await router.echo("db.example", 80)).toBe("hello");
  });

  test("is refused when nobody trusted signed its certificate", async () => {
    const pki = makePki(scope.tempDir());
    const proxy = scope.use(await startHttpProxy({ tls: pki.webhook }));
    const router = scope.router(
      { httpsProxy: "https://localhost:3128" },
      {
        dialer: fakeTunnel({ "localhost:3128": proxy.port }),
      },
    );
    await expect(router.open({ host: "db.example", port: 80 }, NEVER)).rejects.toMatchObject({
      kind: "path",
      code: "DB_SIDECAR_PROXY",
      message: expect.stringMatching(
        /^the proxy localhost:3128 of --https-proxy cannot be spoken to by TLS: .*certificate/,
      ),
    });
  });

  test.each([
    ["HTTP/1.1 407 Nope\r\n\r\nno", "path", /wants a login \(407\): no\.$/],
    [
      "HTTP/1.1 403 Forbidden\r\n\r\nnot\r\nyou\u0007",
      "forbidden",
      /refused to connect to db.example:80 \(403\): not you\.$/,
    ],
    [`HTTP/1.1 502 Bad\r\n\r\n${"x".repeat(2_000)}`, "host", /\(502\): x{500}\.$/],
    ["HTTP/1.1 504 Late\r\nContent-Length: 4\r\n\r\nlateXXX", "timeout", /\(504\): late\.$/],
    ["SSH-2.0-OpenSSH\r\n", "path", /does not speak HTTP\/1\.$/],
    ["", "path", /did not answer for db.example:80: it hung up without an answer\.$/],
  ])("%j is reported as: %s", async (answer, kind, message) => {
    const proxy = scope.use(await startHttpProxy({ answer }));
    const router = scope.router(
      { httpsProxy: "proxy.corp:3128" },
      {
        dialer: fakeTunnel({ "proxy.corp:3128": proxy.port }),
      },
    );
    await expect(router.open({ host: "db.example", port: 80 }, NEVER)).rejects.toMatchObject({
      kind,
      code: "DB_SIDECAR_PROXY",
      message: expect.stringMatching(message),
    });
  });

  test("is named in the error when it cannot be reached", async () => {
    const router = scope.router(
      { httpsProxy: "http://u:secret@proxy.corp:3128" },
      {
        dialer: fakeTunnel(),
      },
    );
    const opening = router.open({ host: "db.example", port: 80 }, NEVER);
    await expect(opening).rejects.toMatchObject({ kind: "path", code: "DB_SIDECAR_PROXY" });
    await expect(opening).rejects.not.toThrow(/secret/);
    await expect(opening).rejects.toThrow(
      /^the proxy proxy.corp:3128 of --https-proxy cannot be reached: .*connection refused\.$/,
    );
  });

  test("gets plain HTTP requests whole, from the URL for http alone", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel({ "proxy.corp:3128": echo.port, "in.example:80": echo.port });
    const router = scope.router(
      { httpProxy: "http://u:p@proxy.corp:3128", noProxy: ".example" },
      {
        dialer: tunnel,
      },
    );
    const hop = router.routeHttp({ host: "db.corp", port: 80 });
    expect(hop).toMatchObject({ form: "absolute", proxyAuthorization: `Basic ${btoa("u:p")}` });
    expect(hop.key).toBe(router.routeHttp({ host: "other.corp", port: 8080 }).key);
    expect(await hello(await hop.open(NEVER))).toBe("hello");
    const past = router.routeHttp({ host: "in.example", port: 80 });
    expect(past).toMatchObject({ form: "origin", proxyAuthorization: undefined });
    expect(past.key).not.toBe(router.routeHttp({ host: "in.example", port: 81 }).key);
    expect(await hello(await past.open(NEVER))).toBe("hello");
    expect(router.routes).toEqual(["customer-proxy db.corp:80", "tunnel in.example:80"]);
  });
});

describe("the bypass for cloud APIs", () => {
  const cloud = { cloudBypass: true, cloudExclude: ["kept.azure.com"] };

  test("dials directly, past tunnel and customer's proxy, except for excluded hosts", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel({ "proxy.azure.com:3128": echo.port, "kept.azure.com:443": echo.port });
    const httpsProxy = "http://proxy.azure.com:3128";
    const customer = { httpsProxy, noProxy: "kept.azure.com,proxy.azure.com" };
    const parts: RouterParts = { dialer: tunnel, lookup: async () => ["127.0.0.1"] };
    const router = scope.router({ ...cloud, ...customer }, parts);
    expect(await router.echo("management.azure.com", echo.port)).toBe("hello");
    expect(await router.echo("kept.azure.com", 443)).toBe("hello");
    expect(await router.echo("proxy.azure.com", 3128)).toBe("hello");
    expect(tunnel.dialled).toEqual(["kept.azure.com:443", "proxy.azure.com:3128"]);
    expect(router.routeHttp({ host: "management.azure.com", port: 80 })).toMatchObject({ form: "origin" });
  });

  test("honours HTTPS_PROXY in either case, its login, TLS to it and NO_PROXY", async () => {
    const pki = makePki(scope.tempDir());
    const echo = scope.use(await startEcho());
    const routes = { "ec2.amazonaws.com:443": `127.0.0.1:${echo.port}` };
    const proxy = scope.use(await startHttpProxy({ tls: pki.webhook, login: "a b:c", routes }));
    const network = networkProxyOf({
      HTTPS_PROXY: "",
      https_proxy: `https://a%20b:c@localhost:${proxy.port}`,
      NO_PROXY: "sts.amazonaws.com",
    });
    const router = scope.router(
      { ...cloud, network, proxyTrustBundle: pki.webhook.ca },
      { dialer: fakeTunnel(), lookup: async () => ["127.0.0.1"] },
    );
    expect(await router.echo("ec2.amazonaws.com", 443)).toBe("hello");
    expect(await router.echo("sts.amazonaws.com", echo.port)).toBe("hello");
    expect(proxy.lines).toEqual(["CONNECT ec2.amazonaws.com:443 HTTP/1.1"]);
  });

  test.each(["HTTPS_PROXY", "https_proxy"])(
    "names %s and its proxy, without the login, when that fails",
    async (variable) => {
      const proxy = scope.use(await startHttpProxy({ login: "user:right" }));
      const opening = (port: number) => {
        const network = networkProxyOf({ [variable]: `http://user:secret@127.0.0.1:${port}` });
        const router = scope.router({ ...cloud, network }, { dialer: fakeTunnel(), lookup: async () => ["127.0.0.1"] });
        return router.open({ host: "ec2.amazonaws.com", port: 443 }, NEVER).catch(messageOf);
      };
      const [wrongLogin, dead] = [await opening(proxy.port), await opening(1)];
      expect(wrongLogin).toBe(
        `the proxy 127.0.0.1:${proxy.port} of ${variable} does not accept the login (407): who are you?.`,
      );
      expect(dead).toMatch(new RegExp(`^the proxy 127\\.0\\.0\\.1:1 of ${variable} cannot be reached: .*ECONNREFUSED`));
      expect(`${wrongLogin} ${dead}`).not.toContain("secret");
    },
  );

  test("reports what failed", async () => {
    const router = scope.router(cloud, { dialer: fakeTunnel(), lookup: nothingHere });
    await expect(router.open({ host: "ec2.amazonaws.com", port: 443 }, NEVER)).rejects.toMatchObject({
      kind: "name",
      code: "DB_SIDECAR_DIRECT",
      message: "the direct connection to ec2.amazonaws.com:443 failed: the name has no address here.",
    });
    const refused = scope.router(cloud, { dialer: fakeTunnel(), lookup: async () => ["127.0.0.1"] });
    await expect(refused.open({ host: "ec2.amazonaws.com", port: 1 }, NEVER)).rejects.toMatchObject({
      kind: "refused",
      code: "DB_SIDECAR_DIRECT",
    });
  });
});
