/** Against a real admin port on loopback, and against strangers that answer in its place. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { createAuthority, issueCertificate } from "../../tunnel/pki/issue.js";
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

  test("returns undefined for what does not exist", async () => {
    expect(await portAt(http.port).find("refusals/none")).toBeUndefined();
    expect(await portAt(http.port).find("tunnels/7")).toMatchObject({ target: "10.0.0.7:443" });
  });

  test("reports a refusal with the server's message", async () => {
    await expect(portAt(http.port, "wrong").get("process")).rejects.toMatchObject({
      code: "DB_ADMIN_REFUSED",
      message: expect.stringMatching(/^127\.0\.0\.1:\d+ answered 401: send the admin token/),
    });
    await expect(portAt(http.port).get("nothing")).rejects.toThrow("answered 404: there is no /drawbridge/v1/nothing");
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
      code: "DB_ADMIN_UNREACHABLE",
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
  const start = async (use: { dnsNames?: string[]; ipAddresses?: string[] } = {}) => {
    const authority = await createAuthority({ commonName: "admin-ca" });
    const names = { ipAddresses: ["127.0.0.1"], ...use };
    const pair = await issueCertificate(authority, { use: "server", commonName: "admin", ...names });
    const server = createTlsServer({ cert: pair.certificatePem, key: pair.privateKeyPem }, (_request, response) =>
      response.end("{}"),
    ).listen(0, "127.0.0.1");
    await once(server, "listening");
    return { server, port: (server.address() as AddressInfo).port, ca: authority.certificatePem };
  };
  const asking = (port: number, scheme: string, ca?: string) =>
    new AdminPort({ url: new URL(`${scheme}://127.0.0.1:${port}`), token: TOKEN, ca }).get("process");

  test("names a foreign CA, plain HTTP to TLS and a certificate for another name, and nothing of it otherwise", async () => {
    const { server, port, ca } = await start();
    const other = await start({ ipAddresses: [], dnsNames: ["admin.example"] });
    const code = "DB_ADMIN_UNREACHABLE";
    const says = (words: string) => ({ code, message: expect.stringContaining(words) });
    await expect(asking(port, "https")).rejects.toMatchObject(says("not of an authority that --ca-file names"));
    await expect(asking(port, "https", other.ca)).rejects.toMatchObject(says("not of an authority"));
    await expect(asking(port, "http")).rejects.toMatchObject(says("begin --admin with https://"));
    await expect(asking(other.port, "https", other.ca)).rejects.toMatchObject(says("not for the name in --admin"));
    expect(await asking(port, "https", ca)).toEqual({});
    server.close();
    other.server.close();
  });

  test("names TLS to a port without it", async () => {
    const server = createServer((_request, response) => response.end("{}")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await expect(asking(port, "https")).rejects.toThrow("it does not speak TLS; begin --admin with http://");
    server.close();
  });
});
