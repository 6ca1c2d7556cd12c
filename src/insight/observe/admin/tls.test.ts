/** Beyond loopback the API is spoken over TLS, or not at all. */

import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { RunningHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { certificatesReloaded, peerRefused } from "../../../tunnel/events/channels.js";
import { CertificateFiles } from "../../../tunnel/pki/certificate-set.js";
import { type Authority, createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { startAdmin } from "../admin.js";
import type { CertificateInfo, Page, RefusedPeerRow } from "./contract.js";
import type { ApiFailure } from "./failure.js";
import { Guard } from "./guard.js";
import { ask as askInTheClear } from "./testing/asker.js";
import { PlayedRole } from "./testing/role.js";

const TOKEN = "a-token";
const authorization = `Bearer ${TOKEN}`;
let dir: string;
let authority: Authority;
let http: RunningHttp;
let files: CertificateFiles;
let role: PlayedRole;
const paths = () => ({ certFile: join(dir, "tls.crt"), keyFile: join(dir, "tls.key") });

async function certify(dnsName: string): Promise<void> {
  const names = { dnsNames: [dnsName], ipAddresses: ["127.0.0.1"] };
  const pair = await issueCertificate(authority, { use: "server", commonName: dnsName, ...names });
  writeFileSync(paths().certFile, pair.certificatePem);
  writeFileSync(paths().keyFile, pair.privateKeyPem, { mode: 0o600 });
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "drawbridge-admin-tls-"));
  writeFileSync(join(dir, "token"), TOKEN);
  authority = await createAuthority({ commonName: "admin-ca" });
  await certify("admin.example");
  role = new PlayedRole();
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), {
    ...{ ...role.parts, tokenFile: join(dir, "token"), profiling: false },
    tls: {
      certFile: paths().certFile,
      follow: (events) => {
        files = new CertificateFiles(paths(), events);
        return files;
      },
    },
  });
});
afterEach(async () => {
  await http.close();
  rmSync(dir, { recursive: true });
});

interface Answer {
  readonly status: number;
  readonly cookies: readonly string[];
  readonly body: string;
}

function ask(path: string, headers: Record<string, string>, { method = "GET", body = "" } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Which names the certificate has is for the server to check here.
    const tls = { ca: authority.certificatePem, checkServerIdentity: () => undefined, agent: false as const };
    request(
      { host: "127.0.0.1", port: http.port, path: `/drawbridge/v1/${path}`, headers, method, ...tls },
      (answer) => {
        answer.toArray().then((chunks) => {
          const text = Buffer.concat(chunks as Buffer[]).toString();
          resolve({ status: answer.statusCode!, cookies: answer.headers["set-cookie"] ?? [], body: text });
        }, reject);
      },
    )
      .once("error", reject)
      .end(body);
  });
}

test("the admin port answers under the names of its certificate, and no others", async () => {
  expect((await ask("process", { authorization, host: "admin.example:8095" })).status).toBe(200);
  expect((await ask("process", { authorization, host: "evil.example" })).status).toBe(403);
});

test("the session's cookie is Secure over TLS", async () => {
  const origin = { host: "admin.example", origin: "https://admin.example", "content-type": "application/json" };
  const { cookies } = await ask("login", origin, { method: "POST", body: JSON.stringify({ token: TOKEN }) });
  expect(cookies[0]).toMatch(/; HttpOnly; SameSite=Strict; Secure$/);
  const session = { cookie: cookies[0]!.split(";")[0]!, host: "admin.example" };
  expect((await ask("process", session)).status).toBe(200);
  expect((await ask("process", { ...session, origin: "http://admin.example" })).status).toBe(403);
});

test("the admin port uses a replaced certificate, and shows it among the others", async () => {
  const reloaded: (readonly string[])[] = [];
  const end = certificatesReloaded.subscribe(({ files }) => reloaded.push(files), role.source);
  await certify("new.example");
  expect(files.check()).toBe(true);
  end();
  expect(reloaded).toEqual([[paths().certFile]]);
  const { body } = await ask("certificates", { authorization, host: "new.example" });
  const { items } = JSON.parse(body) as Page<CertificateInfo>;
  expect(items).toMatchObject([{ use: "admin", kind: "own", subject: "CN=new.example", file: paths().certFile }]);
  expect((await ask("process", { authorization, host: "admin.example" })).status).toBe(403);
});

test("the admin port with a certificate does not answer without TLS", async () => {
  await expect(askInTheClear(http.port, "/drawbridge/v1/process", { headers: { authorization } })).rejects.toThrow();
});

test.each([
  ["127.0.0.1", false, undefined],
  ["::1", false, undefined],
  ["10.0.0.5", false, "DB_ADMIN_TLS"],
  ["10.0.0.5", true, undefined],
])("a request to %s, encrypted: %s, is stopped with %s", (localAddress, encrypted, code) => {
  const guard = new Guard({ source: role.source, tokenFile: "t", host: "", instance: "i" });
  const host = localAddress.includes(":") ? `[${localAddress}]` : localAddress;
  const message = { headers: { host }, socket: { localAddress, encrypted } } as unknown as IncomingMessage;
  let thrown: unknown;
  try {
    guard.admitAddress(message);
  } catch (reason) {
    thrown = reason;
  }
  expect((thrown as ApiFailure | undefined)?.body.error.code).toBe(code);
});

test("an agent's admin port redirects scrapers to the health port, which has no TLS", async () => {
  const followed = new CertificateFiles(paths(), { onChange: () => {}, onProblem: () => {} });
  const agents = await startAdmin(
    { host: "127.0.0.1", port: 0 },
    { healthPort: 8093 },
    {
      ...{ ...role.parts, tokenFile: "", profiling: false },
      tls: { certFile: paths().certFile, follow: () => followed },
    },
  );
  const tls = { ca: authority.certificatePem, checkServerIdentity: () => undefined, agent: false as const };
  const headers = { host: "agent.example:8094" };
  const location = await new Promise<string | undefined>((resolve, reject) => {
    request({ host: "127.0.0.1", port: agents.port, path: "/metrics", headers, ...tls }, (answer) => {
      answer.resume();
      resolve(answer.headers.location);
    })
      .once("error", reject)
      .end();
  });
  await agents.close();
  expect(location).toBe("http://agent.example:8093/metrics");
});

describe("whoever is refused at the port is listed", () => {
  const rows = async () => {
    const { body } = await ask("refused-peers", { authorization, "user-agent": "looker" });
    return (JSON.parse(body) as Page<RefusedPeerRow>).items;
  };
  const listed = async (count = 1) => {
    await expect.poll(async () => (await rows()).length).toBe(count);
    return rows();
  };

  test("with HTTP in the clear, once for all its connections", async () => {
    for (let time = 0; time < 3; time++) await expect(askInTheClear(http.port, "process", {})).rejects.toThrow();
    await expect.poll(async () => (await rows())[0]?.count).toBe(3);
    expect(await rows()).toEqual([
      expect.objectContaining({
        ...{ listener: "admin", address: "127.0.0.1", code: "DB_PEER_PLAIN_TEXT", count: 3 },
        reason: "it sent an HTTP request without TLS",
      }),
    ]);
  });

  test("with another protocol", async () => {
    const only = connect({ host: "127.0.0.1", port: http.port, ca: authority.certificatePem, ALPNProtocols: ["h2"] });
    await expect(once(only, "secureConnect")).rejects.toThrow();
    expect(await listed()).toMatchObject([
      {
        code: "DB_PEER_WRONG_PORT",
        reason: "by ALPN it offered other protocols than http/1.1, which is all that this listener takes",
      },
    ]);
  });

  test("with another token, in a header or at the login, and no token is in the list or the event", async () => {
    const seen: unknown[] = [];
    const end = peerRefused.subscribe((event) => seen.push(event), role.source);
    const wrong = "a-token-of-somebody-else";
    expect((await ask("process", { authorization: `Bearer ${wrong}` })).status).toBe(401);
    const body = JSON.stringify({ token: wrong });
    const headers = { "content-type": "application/json", host: "admin.example" };
    expect((await ask("login", headers, { method: "POST", body })).status).toBe(401);
    end();
    const [row, ...more] = await listed();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ listener: "admin", code: "DB_ADMIN_REFUSED", count: 2 });
    expect(row?.reason).toBe("it showed another token than that of --admin-token-file");
    expect(seen).toHaveLength(2);
    expect(JSON.stringify([await rows(), seen])).not.toContain("somebody");
    expect(row?.acceptedAt).toBeUndefined();
    const right = JSON.stringify({ token: TOKEN });
    expect((await ask("login", headers, { method: "POST", body: right })).status).toBe(204);
    expect((await rows())[0]?.acceptedAt).toEqual(expect.any(Number));
  });

  test("with another token in a header, and taken back once the same program shows the right one", async () => {
    const wrong = { authorization: "Bearer a-token-of-somebody-else", "user-agent": "script" };
    expect((await ask("process", wrong)).status).toBe(401);
    expect((await listed())[0]?.acceptedAt).toBeUndefined();
    expect((await ask("process", { ...wrong, authorization })).status).toBe(200);
    expect((await rows())[0]?.acceptedAt).toEqual(expect.any(Number));
    expect((await ask("process", wrong)).status).toBe(401);
    expect((await rows())[0]?.acceptedAt).toBeUndefined();
  });

  test("but not who opens the page before the login, or has hung up", async () => {
    expect((await ask("session", {})).status).toBe(401);
    expect((await ask("session", { cookie: "drawbridge-session=old" })).status).toBe(401);
    const quick = createConnection(http.port, "127.0.0.1");
    await once(quick, "connect");
    quick.resetAndDestroy();
    expect(await rows()).toEqual([]);
  });
});
