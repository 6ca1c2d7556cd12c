/** The status and body table, asked over real TLS. The same table is asked with curl in test/e2e. */
import { EventEmitter, once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { type Authority, createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import type { RefusedFetch, ServedFetch } from "./fetches.js";
import { certificateInFiles, type RunningIgnitionServer, startIgnitionServer } from "./serve.js";
import { makePayload, TokenStore } from "./tokens.js";

const CONFIG = '{"ignition":{"version":"3.2.0"}}';
const TOKEN = "5f6d5f0e-6b4f-4d0e-9f5c-6a8b1c2d3e4f";

const bearer = (token: string) => ({ authorization: `Bearer ${Buffer.from(token).toString("base64")}` });

describe("the Ignition server", () => {
  let authority: Authority;
  let dir: string;
  let server: RunningIgnitionServer;
  let served: ServedFetch[];
  let turned: RefusedFetch[];
  /** Every test has a minute of its own, as refusals are counted by the minute. */
  const clock = new ManualClock(0);
  const tokens = new TokenStore();
  const fetches = new EventEmitter();

  const certify = async (commonName: string) => {
    const pair = await issueCertificate(authority, { use: "server", commonName, ipAddresses: ["127.0.0.1"] });
    for (const [name, text] of Object.entries({ "tls.crt": pair.certificatePem, "tls.key": pair.privateKeyPem })) {
      writeFileSync(join(dir, `${name}.new`), text, { mode: 0o600 });
      renameSync(join(dir, `${name}.new`), join(dir, name));
    }
  };

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "drawbridge-ignition-"));
    authority = await createAuthority({ commonName: "ignition-root-ca" });
    await certify("ignition-server");
    const made = makePayload(CONFIG);
    const payload = () => made;
    tokens.admit(TOKEN, { payload, secret: "token-workers-83935368", pool: "clusters/workers" });
    tokens.admit("of-one", { payload, secret: "token-workers-83935368", pool: "clusters/workers", worker: "worker-3" });
    const long = makePayload(JSON.stringify({ ignition: { version: "3.2.0" }, more: "x".repeat(32 * 1024 * 1024) }));
    const announced = () => {
      fetches.emit("long");
      return long;
    };
    tokens.admit("of-many-bytes", { payload: announced, secret: "token-long", pool: "clusters/long" });
    tokens.admit("broken", { payload: () => makePayload("{}"), secret: "token-broken", pool: "clusters/broken" });
    server = await startIgnitionServer(
      {
        host: "127.0.0.1",
        port: 0,
        certificates: certificateInFiles(
          { certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key") },
          {
            every: (_ms, tick) => {
              const timer = setInterval(tick, 50);
              return () => clearInterval(timer);
            },
          },
        ),
      },
      {
        tokens,
        recorder: { served: (fetch) => served.push(fetch), refused: (fetch) => turned.push(fetch) },
        clock,
      },
    );
  });
  beforeEach(() => {
    served = [];
    turned = [];
    clock.advance(60_000);
  });
  afterAll(async () => {
    await server.close();
    rmSync(dir, { recursive: true });
  });

  async function ask(path: string, headers: Record<string, string> = {}, method = "GET") {
    const sent = request({
      host: "127.0.0.1",
      port: server.port,
      path,
      method,
      headers,
      ca: authority.certificatePem,
      agent: false,
    });
    sent.end();
    const [response] = await once(sent, "response");
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    return { status: response.statusCode as number, headers: response.headers, body: Buffer.concat(chunks) };
  }

  const asked = async (...args: Parameters<typeof ask>) => {
    const { status, body } = await ask(...args);
    return [status, body.toString()];
  };

  test.each([
    ["health, without a token", "/healthz", {}, 200, ""],
    ["no such page", "/", {}, 404, "404 page not found\n"],
    ["a slash too many", "/ignition/", bearer(TOKEN), 404, "404 page not found\n"],
    ["an escaped slash too many", "/ignition%2F", bearer(TOKEN), 404, "404 page not found\n"],
    ["a path that is none", "/ignition%zz", bearer(TOKEN), 400, "Bad Request\n"],
    ["no header", "/ignition", {}, 401, "Unauthorized\n"],
    ["a small letter", "/ignition", { authorization: "bearer YQ==" }, 401, "Unauthorized\n"],
    ["no base64", "/ignition", { authorization: "Bearer a-b_" }, 401, "Unauthorized\n"],
    ["base64 without its padding", "/ignition", { authorization: "Bearer YQ" }, 401, "Unauthorized\n"],
    ["a token nobody knows", "/ignition", bearer("stranger"), 511, "Token not found\n"],
    ["an empty token, whose blank HTTP takes away", "/ignition", { authorization: "Bearer " }, 401, "Unauthorized\n"],
    ["a payload that is no config", "/ignition", bearer("broken"), 500, "Invalid ignition payload\n"],
    ["the payload", "/ignition", bearer(TOKEN), 200, CONFIG],
    ["the payload, with a query", "/ignition?x", bearer(TOKEN), 200, CONFIG],
    ["the payload, under a longer name", "/ignitionX", bearer(TOKEN), 200, CONFIG],
  ])("answers %s", async (_what, path, headers, status, body) => {
    expect(await asked(path, headers as Record<string, string>)).toEqual([status, body]);
  });

  test("takes any method, and sends no body with HEAD", async () => {
    expect(await asked("/ignition", bearer(TOKEN), "POST")).toEqual([200, CONFIG]);
    const { status, headers, body } = await ask("/ignition", bearer(TOKEN), "HEAD");
    expect([status, headers["content-length"], body.length]).toEqual([200, String(CONFIG.length), 0]);
  });

  test("says what it sends", async () => {
    const { headers } = await ask("/ignition", bearer(TOKEN));
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect((await ask("/ignition", { ...bearer(TOKEN), "if-none-match": headers.etag as string })).status).toBe(304);
    const refused = await ask("/ignition");
    expect(refused.headers).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      "x-content-type-options": "nosniff",
    });
  });

  test("compresses only for those who ask", async () => {
    const { headers, body } = await ask("/ignition", { ...bearer(TOKEN), "accept-encoding": "br, gzip;q=0.5" });
    expect(headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(body).toString()).toBe(CONFIG);
    for (const accepted of ["identity", "gzip;q=0", "gzip; q=0.0", "br"]) {
      const plain = await ask("/ignition", { ...bearer(TOKEN), "accept-encoding": accepted });
      expect([accepted, plain.headers["content-encoding"]]).toEqual([accepted, undefined]);
    }
  });

  test("records who got what; headers say only what the machine thinks of itself", async () => {
    await ask("/ignition", { ...bearer(TOKEN), nodepool: "other/pool", targetconfigversionhash: "00000000" });
    await ask("/ignition", bearer("of-one"));
    const common = {
      at: clock.date(),
      remote: "127.0.0.1",
      pool: "clusters/workers",
      secret: "token-workers-83935368",
    };
    // A machine may have its answer before the server knows that it was sent.
    await eventually(() =>
      expect(served).toEqual([
        { ...common, claimed: { pool: "other/pool", targetConfigVersion: "00000000" } },
        { ...common, worker: "worker-3", claimed: {} },
      ]),
    );
  });

  test("records nothing for HEAD and 304, which hand out no payload", async () => {
    const { headers } = await ask("/ignition", bearer(TOKEN), "HEAD");
    expect((await ask("/ignition", { ...bearer(TOKEN), "if-none-match": headers.etag as string })).status).toBe(304);
    // The one fetch behind them is the only one on record, and whatever they left would be there before it.
    await ask("/ignition", bearer("of-one"));
    await eventually(() => expect(served.map(({ worker }) => worker)).toEqual(["worker-3"]));
  });

  test("sends the whole payload to whoever asks for a range, and records that", async () => {
    expect(await asked("/ignition", { ...bearer(TOKEN), range: "bytes=0-0" })).toEqual([200, CONFIG]);
    await eventually(() => expect(served).toHaveLength(1));
  });

  test("records nothing for a machine that hangs up midway", async () => {
    const client = (await secured({})) as TLSSocket;
    client.on("error", () => {});
    client.pause();
    const { authorization } = bearer("of-many-bytes");
    const asksForLong = once(fetches, "long");
    client.write(`GET /ignition HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
    await asksForLong;
    client.destroy();
    // By the time that another machine has connected, asked and is on record, the server has seen the first one's end.
    await ask("/ignition", bearer("of-one"));
    await eventually(() => expect(served).not.toEqual([]));
    expect(served.map(({ worker }) => worker)).toEqual(["worker-3"]);
  });

  test("records why it turned machines away, never what they sent as a token", async () => {
    await ask("/ignition");
    await ask("/ignition", { authorization: "Bearer ???" });
    await ask("/ignition", { ...bearer("stranger"), nodepool: "clusters/workers" });
    expect(turned.map(({ why, claimed }) => [why, claimed])).toEqual([
      ["Bad header", {}],
      ["Token invalid", {}],
      ["Token not found in cache", { pool: "clusters/workers" }],
    ]);
    expect(JSON.stringify(turned)).not.toContain("stranger");
    await ask("/ignition", bearer("broken"));
    expect(served).toEqual([]);
  });

  test("in a flood of strangers each is told to wait, few are recorded, and whoever has a token is served", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 120 }, async (_, index) => {
        const token = index % 4 === 0 ? TOKEN : `stranger-${index}`;
        return [token === TOKEN, (await ask("/ignition", bearer(token))).status];
      }),
    );
    const count = (known: boolean, status: number) => statuses.filter(([a, b]) => a === known && b === status).length;
    expect([count(true, 200), count(false, 511)]).toEqual([30, 90]);
    await eventually(() => expect(served).toHaveLength(30));
    expect(turned).toHaveLength(20);
  });

  const secured = (options: object): Promise<TLSSocket | Error> =>
    new Promise((resolve) => {
      const at = { host: "127.0.0.1", port: server.port, ca: authority.certificatePem };
      const socket: TLSSocket = connect({ ...at, ...options }, () => resolve(socket));
      socket.once("error", resolve);
    });

  test("speaks TLS 1.2 and newer with authenticated ciphers only, and HTTP/1.1", async () => {
    const fine = await secured({ ALPNProtocols: ["h2", "http/1.1"], maxVersion: "TLSv1.2" });
    expect(fine).toMatchObject({ alpnProtocol: "http/1.1" });
    (fine as TLSSocket).destroy();
    expect(await secured({ maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-SHA" })).toBeInstanceOf(Error);
    expect(await secured({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" })).toBeInstanceOf(Error);
  });

  test("shows a new certificate as soon as it is there", async () => {
    await certify("ignition-server-renewed");
    await expect
      .poll(
        async () => {
          const socket = (await secured({})) as TLSSocket;
          const { subject } = socket.getPeerCertificate();
          socket.destroy();
          return subject.CN;
        },
        { timeout: 15_000, interval: 250 },
      )
      .toBe("ignition-server-renewed");
  });
});
