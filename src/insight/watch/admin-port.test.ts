/** Against a real admin port on loopback, and against strangers that answer in its place. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsSocketServer } from "node:tls";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startHealth } from "../../base/health.js";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { createTlsListener } from "../../tunnel/link/tls-listener.js";
import { type Authority, createAuthority, issueCertificate } from "../../tunnel/pki/issue.js";
import { type CertificateRequest, DAY_MS } from "../../tunnel/pki/request.js";
import type { Dump, Overview, Page, TunnelRow } from "../observe/admin/contract.js";
import { PlayedRole } from "../observe/admin/testing/role.js";
import { startAdmin } from "../observe/admin.js";
import { AdminPort } from "./admin-port.js";
import type { ServerSentEvent } from "./event-stream.js";

const TOKEN = "a-token-of-this-test";
/** The machine may be busy with other tests. */
const wait = { timeout: 10_000 };
const portAt = (port: number, token = TOKEN) => new AdminPort({ url: new URL(`http://127.0.0.1:${port}`), token });

describe("a process' admin port", () => {
  let folder: string;
  let role: PlayedRole;
  let http: RunningHttp;
  let stop: AbortController;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-watch-"));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
    role = new PlayedRole();
    role.open(7, "10.0.0.7:443");
    const options = { ...role.parts, tokenFile, profiling: false };
    http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await http.close();
    rmSync(folder, { recursive: true });
  });

  test("answers GET requests", async () => {
    const port = portAt(http.port);
    expect((await port.get<Overview>("")).process).toMatchObject({ role: "server", id: "s-1" });
    expect((await port.get<Page<TunnelRow>>("tunnels?target=10.0.0.7")).total).toBe(1);
    expect((await port.get<Dump>("dump")).tunnels.map(({ id }) => id)).toEqual([7]);
    expect(await port.text("/metrics")).toBe("");
  });

  test("says that the token file of the process is at fault where it is", async () => {
    rmSync(join(folder, "token"));
    await expect(portAt(http.port).get("process")).rejects.toMatchObject({
      code: "DB_ADMIN_TOKEN_FILE",
      remedy: expect.stringContaining("the file of --admin-token-file"),
    });
  });

  test("returns undefined for what does not exist", async () => {
    expect(await portAt(http.port).find("refusals/none")).toBeUndefined();
    expect(await portAt(http.port).find("tunnels/7")).toMatchObject({ target: "10.0.0.7:443" });
  });

  test("reports a refusal with the server's message", async () => {
    await expect(portAt(http.port, "wrong").get("process")).rejects.toMatchObject({
      code: "DB_ADMIN_REFUSED",
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 401: send the admin token/),
      remedy: expect.stringContaining("--token-file"),
    });
    await expect(portAt(http.port).get("nothing")).rejects.toThrow("answered 404: there is no /drawbridge/v1/nothing");
    await expect(portAt(http.port).get("nothing")).rejects.toMatchObject({
      remedy: "docs/admin-api.md lists the routes.",
    });
    await expect(portAt(http.port).get("explain?target=x:1")).rejects.toMatchObject({
      message: expect.stringMatching(/answered 404: this is a server, which chooses no agent/),
      remedy: expect.stringContaining("--admin the admin port of the proxy-server"),
    });
    await expect(portAt(http.port, "wrong").follow(() => {}, stop.signal)).rejects.toThrow("answered 401");
    await expect(portAt(http.port, "wrong").text("flight/1?format=text")).rejects.toMatchObject({
      code: "DB_ADMIN_ANSWER",
      message: expect.stringMatching(/answered 401 to flight\/1\.$/),
    });
  });

  test("delivers events until the caller stops", async () => {
    const events: ServerSentEvent[] = [];
    const following = portAt(http.port).follow((event) => events.push(event), stop.signal);
    await expect.poll(() => events.map(({ name }) => name), wait).toEqual(["snapshot", "change"]);
    role.open(8);
    await expect.poll(() => events.length, wait).toBe(3);
    expect(JSON.parse(events.at(-1)!.data)).toMatchObject({ tunnels: { changed: [{ id: 8 }] } });
    stop.abort();
    await following;
  });

  test("ends the stream with its process, and is unreachable then", async () => {
    const names: string[] = [];
    const following = portAt(http.port).follow(({ name }) => names.push(name), stop.signal);
    await expect.poll(() => names, wait).toContain("change");
    const ending = expect(following).rejects.toMatchObject({ code: "DB_ADMIN_UNREACHABLE" });
    await http.close();
    await ending;
    await expect(portAt(http.port).get("process")).rejects.toMatchObject({
      code: "DB_CONNECT_REFUSED",
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

describe("another server at the admin port's address", () => {
  let server: Server;
  const answering = async (answer: RequestListener): Promise<AdminPort> => {
    server = createServer(answer).listen(0, "127.0.0.1");
    await once(server, "listening");
    return portAt((server.address() as AddressInfo).port);
  };
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  test.each(["<html>", "", "null", "5", "{}", '{"error":null}', '{"error":"no"}', '{"error":{}}'])(
    "that fails with %j gets one sentence",
    async (body) => {
      const port = await answering((_request, response) => response.writeHead(500).end(body));
      const sentence = { code: "DB_ADMIN_ANSWER", message: expect.stringMatching(/answered 500 with something/) };
      await expect(port.get("process")).rejects.toMatchObject(sentence);
      await expect(port.follow(() => {}, AbortSignal.timeout(10_000))).rejects.toMatchObject(sentence);
    },
  );

  test.each(["<html>", "", "null", "5", '"yes"'])("that answers %j is not believed", async (body) => {
    const port = await answering((_request, response) => response.end(body));
    await expect(port.get("process")).rejects.toMatchObject({ code: "DB_ADMIN_ANSWER" });
  });

  test("that sends no events is not followed", async () => {
    const port = await answering((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>welcome</html>\n\n");
    });
    const following = port.follow(() => {}, AbortSignal.timeout(10_000));
    await expect(following).rejects.toMatchObject({ code: "DB_ADMIN_ANSWER" });
  });

  test("that breaks off in the middle is reported as unreachable", async () => {
    const port = await answering((_request, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{", () => response.destroy());
    });
    await expect(port.get("process")).rejects.toMatchObject({ code: "DB_ADMIN_UNREACHABLE" });
  });
});

test("a token that fits in no header is refused without being shown", async () => {
  await expect(portAt(1, "wrong\nX-Evil: secret").get("process")).rejects.toMatchObject({
    code: "DB_FLAG_VALUE",
    message: expect.not.stringContaining("secret"),
  });
});

describe("an admin port with TLS", () => {
  const endings: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of endings.splice(0)) end();
  });
  const listening = async <T extends net.Server>(server: T): Promise<number> => {
    endings.push(() => server.close());
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  };
  let ours: Authority;
  beforeAll(async () => {
    ours = await createAuthority({ commonName: "admin-ca", backdateMs: 9 * DAY_MS, validForMs: 9 * DAY_MS });
  });
  const contextOf = async (use: Partial<CertificateRequest> = {}) => {
    const request = { use: "server", commonName: "admin", ipAddresses: ["127.0.0.1"], ...use } as const;
    const { certificatePem: cert, privateKeyPem: key } = await issueCertificate(ours, request);
    return { cert, key, ca: ours.certificatePem };
  };
  const start = async (use?: Partial<CertificateRequest>): Promise<number> =>
    await listening(createTlsServer(await contextOf(use), (_request, response) => response.end("{}")));
  const asking = (port: number, scheme: string, ca: string | undefined = ours.certificatePem) =>
    new AdminPort({ url: new URL(`${scheme}://127.0.0.1:${port}`), token: TOKEN, ca, caFile: "ca.crt" }).get("process");
  const says = (code: string, cause: RegExp, remedy: RegExp) => ({
    code,
    message: expect.stringMatching(cause),
    remedy: expect.stringMatching(remedy),
  });

  test("is asked when its certificate is in order", async () => {
    expect(await asking(await start(), "https")).toEqual({});
  });

  test("of another authority", async () => {
    const port = await start();
    const foreign = (await createAuthority({ commonName: "foreign-ca" })).certificatePem;
    const cause =
      /^The admin port 127\.0\.0\.1:\d+ cannot be reached: .*issuer "CN=admin-ca".*ca\.crt \("CN=foreign-ca"\)/;
    await expect(asking(port, "https", foreign)).rejects.toMatchObject(says("DB_TLS_UNKNOWN_CA", cause, /--ca-file/));
    const nothing = new AdminPort({ url: new URL(`https://127.0.0.1:${port}`), token: TOKEN }).get("process");
    const system = /issuer "CN=admin-ca"\) comes from "CN=admin-ca", .*no CA file was given/;
    await expect(nothing).rejects.toMatchObject(says("DB_TLS_UNKNOWN_CA", system, /--ca-file/));
  });

  const past = new Date(Date.now() - 2 * DAY_MS);
  const future = new Date(Date.now() + 2 * DAY_MS);
  test.each([
    [
      "for another name",
      { ipAddresses: [], dnsNames: ["admin.example"] },
      "DB_TLS_SERVER_NAME",
      /admin\.example/,
      /--admin /,
    ],
    ["that has expired", { now: past }, "DB_TLS_SERVER_EXPIRED", /expired/, /--admin-cert-file/],
    ["that is not valid yet", { now: future }, "DB_TLS_CLOCK", /is not valid yet, only in/, /clocks/],
  ] as const)("with a certificate %s", async (_what, use, code, cause, remedy) => {
    await expect(asking(await start(use), "https")).rejects.toMatchObject(says(code, cause, remedy));
  });

  test("asked in plain HTTP, and one without TLS asked with it", async () => {
    const plainToTls = says("DB_ADMIN_UNREACHABLE", /speaks TLS/, /--admin.*https:\/\//);
    await expect(asking(await start(), "http")).rejects.toMatchObject(plainToTls);
    const plain = await listening(createServer((_request, response) => response.end("{}")));
    const tlsToPlain = says(
      "DB_TLS_NOT_SPOKEN",
      /does not speak TLS: it answered in plain text/,
      /--admin with http:\/\//,
    );
    await expect(asking(plain, "https")).rejects.toMatchObject(tlsToPlain);
  });

  test("is not the agents' port", async () => {
    const onPeer = () => expect.unreachable();
    const { server } = createTlsListener({ context: await contextOf(), protocol: "h2", onPeer, onRefused: () => {} });
    const port = await listening(server);
    const words = /answered 403 with .* begins ".*refused the connection: it showed no certificate/;
    await expect(asking(port, "https")).rejects.toMatchObject(says("DB_ADMIN_ANSWER", words, /--admin.*agents' ports/));
    const plain = says("DB_ADMIN_UNREACHABLE", /speaks TLS/, /--admin/);
    await expect(asking(port, "http")).rejects.toMatchObject(plain);
  });

  test("is not a port of upstream's that asks for a certificate", async () => {
    const options = { ...(await contextOf()), requestCert: true, rejectUnauthorized: true };
    const strict = await listening(createTlsServer(options, () => expect.unreachable()));
    const wrongPort = /another port than the admin port.*--admin/;
    const missing = says("DB_TLS_OWN_MISSING", /wants a client certificate.*was given none/, wrongPort);
    await expect(asking(strict, "https")).rejects.toMatchObject(missing);
    const mute = await listening(createTlsSocketServer(await contextOf(), (socket) => socket.destroy()));
    const hungUp = says("DB_SERVER_HUNG_UP", /hung up.*want a client certificate/, wrongPort);
    await expect(asking(mute, "https")).rejects.toMatchObject(hungUp);
  });

  test("is not a health port", async () => {
    const metrics = new MetricsRegistry();
    const health = await startHealth({ host: "127.0.0.1", port: 0 }, metrics, () => {});
    endings.push(() => health.close());
    const cause = /answered 404 with something that is not the admin API's JSON/;
    await expect(asking(health.port, "http")).rejects.toMatchObject(
      says("DB_ADMIN_ANSWER", cause, /--admin.*health ports/),
    );
  });

  test("is not whatever answers with JSON of its own", async () => {
    const port = await listening(createServer((_, response) => response.end("{}")));
    await expect(portAt(port).list("findings")).rejects.toMatchObject({
      code: "DB_ADMIN_ANSWER",
      message: expect.stringContaining('not the admin API\'s JSON, which begins "{}"'),
    });
  });

  test("that nobody listens at", async () => {
    const server = net.createServer();
    const port = await listening(server);
    server.close();
    await once(server, "close");
    const refused = says("DB_CONNECT_REFUSED", /ECONNREFUSED/, /--admin/);
    await expect(asking(port, "https")).rejects.toMatchObject(refused);
  });
});
