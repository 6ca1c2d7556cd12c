import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import net, { type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { createSecureContext, createServer, type TLSSocket, type TlsOptions } from "node:tls";
import { afterEach, beforeAll, expect, test } from "vitest";
import { type Authority, createAuthority, issueCertificate, type PemPair } from "../pki/issue.js";
import { DAY_MS } from "../pki/request.js";
import { quotedName } from "../pki/shown.js";
import { alertIn, connectTimeout, DialFailure, explainConnect, explainHangUp, explainRefused } from "./explain.js";
import { otherNames } from "./facts.js";
import { secure } from "./secure.js";

let ours: Authority;
let foreign: Authority;
let past: Authority;
let good: PemPair;
let client: PemPair;

const loopback = { commonName: "server", use: "server", ipAddresses: ["127.0.0.1"] } as const;
const yesterday = new Date(Date.now() - 2 * DAY_MS);

beforeAll(async () => {
  ours = await createAuthority({ commonName: "our-ca", backdateMs: 9 * DAY_MS });
  foreign = await createAuthority({ commonName: "foreign-ca" });
  past = await createAuthority({ commonName: "past-ca", now: yesterday });
  good = await issueCertificate(ours, loopback);
  client = await issueCertificate(ours, { commonName: "an-agent", use: "client" });
});

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listen<T extends Server>(server: T): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** What the server's program got to read of those it does not know. */
let received = "";

async function serve({ certificatePem, privateKeyPem }: PemPair, options: TlsOptions = {}): Promise<number> {
  received = "";
  const server = createServer({ cert: certificatePem, key: privateKeyPem, ...options }, (socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
  });
  server.on("tlsClientError", () => {});
  return await listen(server);
}

interface Shown {
  readonly own?: PemPair;
  /** "system": no CA file was given. */
  readonly ca?: Authority | "system";
  readonly name?: string;
  readonly alpn?: readonly string[];
}

async function dial(port: number, { own, ca = ours, name = "127.0.0.1", alpn = [] }: Shown = {}) {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise((resolve) => socket.once("connect", resolve));
  const set = {
    ...(ca === "system" ? {} : { ca: ca.certificatePem }),
    ...(own === undefined ? {} : { cert: own.certificatePem, key: own.privateKeyPem }),
  };
  const where = `127.0.0.1:${port}`;
  const files = { certFile: "agent.crt", caFile: ca === "system" ? "" : "ca.crt" };
  const credentials = () => ({ self: "this agent", set, ...files, admittedBy: "--cluster-ca-cert" });
  const wanted = { socket, where, name, context: createSecureContext(set), alpn, credentials };
  return await secure(wanted, AbortSignal.timeout(10_000));
}

async function failureOf(port: number, shown?: Shown): Promise<DialFailure> {
  const reason = await dial(port, shown).then(
    () => "connected",
    (failure: unknown) => failure,
  );
  expect(reason).toBeInstanceOf(DialFailure);
  return reason as DialFailure;
}

test("a server of the given authority is connected to", async () => {
  const { socket } = await dial(await serve(good));
  expect(socket.authorized).toBe(true);
  socket.destroy();
});

test("a server of another authority: both are named, and it is sent nothing", async () => {
  const failure = await failureOf(await serve(await issueCertificate(foreign, loopback)));
  expect(failure.code).toBe("DB_TLS_UNKNOWN_CA");
  expect(failure.message).toMatch(/issuer "CN=foreign-ca".* was not signed by any of ca\.crt \("CN=our-ca"\)/);
  expect(failure.peer[0]?.subject).toBe("CN=server");
  expect(received).toBe("");
});

test.each(["TLSv1.2", "TLSv1.3"] as const)("a foreign server sees with %s who hung up", async (version) => {
  const pair = await issueCertificate(foreign, loopback);
  const asks = { requestCert: true, rejectUnauthorized: false, minVersion: version, maxVersion: version };
  const port = await serve(pair, { ...asks, ca: ours.certificatePem });
  const ended = once(open.at(-1)!, "secureConnection").then(async ([socket]: TLSSocket[]) => {
    await once(socket!, "end");
    return socket!.getPeerX509Certificate()?.subject;
  });
  expect((await failureOf(port, { own: client })).code).toBe("DB_TLS_UNKNOWN_CA");
  expect(await ended).toBe("CN=an-agent");
  expect(received).toBe("");
});

test("without a CA file: that none was given, and who issued the server's certificate", async () => {
  const { certificatePem } = foreign;
  const pair = await issueCertificate(foreign, loopback);
  const chain = { ...pair, certificatePem: pair.certificatePem + certificatePem };
  for (const shown of [pair, chain, foreign]) {
    const failure = await failureOf(await serve(shown), { ca: "system", name: shown === foreign ? "x" : "127.0.0.1" });
    expect([failure.code, failure.message]).toEqual([
      "DB_TLS_UNKNOWN_CA",
      expect.stringMatching(
        / comes from "CN=foreign-ca", .*no CA file was given, so only the system's authorities count/,
      ),
    ]);
  }
});

test("NODE_TLS_REJECT_UNAUTHORIZED=0 lets no foreign server in", async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
  try {
    const failure = await failureOf(await serve(await issueCertificate(foreign, loopback)));
    expect(failure.code).toBe("DB_TLS_UNKNOWN_CA");
  } finally {
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  }
});

test("an authority of the same name and another key: the files come from different issues", async () => {
  const namesake = await createAuthority({ commonName: "our-ca" });
  const failure = await failureOf(await serve(await issueCertificate(namesake, loopback)));
  expect([failure.code, failure.message]).toEqual([
    "DB_TLS_UNKNOWN_CA",
    expect.stringContaining("its issuer's name and another key"),
  ]);
  // The same with the authority sent along.
  const pair = await issueCertificate(namesake, loopback);
  const chain = { ...pair, certificatePem: pair.certificatePem + namesake.certificatePem };
  expect((await failureOf(await serve(chain))).message).toContain("its issuer's name and another key");
});

test("a certificate that signed itself is told so", async () => {
  const failure = await failureOf(await serve(foreign));
  expect([failure.code, failure.message]).toEqual(["DB_TLS_UNKNOWN_CA", expect.stringContaining("signed itself")]);
});

test("a server's expired certificate: since when, and this host's clock", async () => {
  const expired = await issueCertificate(ours, { ...loopback, now: yesterday });
  const failure = await failureOf(await serve(expired));
  expect(failure.code).toBe("DB_TLS_SERVER_EXPIRED");
  expect(failure.message).toMatch(/expired 1 d ago, on 2.*this host's clock says 2/);
});

test("a server's certificate of tomorrow is a matter of clocks", async () => {
  const wide = await createAuthority({ commonName: "our-ca", validForMs: 9 * DAY_MS });
  const tomorrow = { ...loopback, now: new Date(Date.now() + 2 * DAY_MS), backdateMs: 0 };
  const failure = await failureOf(await serve(await issueCertificate(wide, tomorrow)), { ca: wide });
  expect([failure.code, failure.message]).toEqual([
    "DB_TLS_CLOCK",
    expect.stringMatching(
      /valid yet, only in 1 d.*this host's clock says 2\S+, so this clock is behind, the issuer's was ahead, or it was made for later/,
    ),
  ]);
});

test("an authority that has expired is named as the one that did", async () => {
  const failure = await failureOf(await serve(await issueCertificate(past, { ...loopback, now: yesterday })), {
    ca: past,
  });
  expect(failure.message).toContain('has an issuer, "CN=past-ca", which expired');
});

test("a client's certificate shown by a server", async () => {
  const wrong = await issueCertificate(ours, { ...loopback, use: "client" });
  expect(await failureOf(await serve(wrong))).toMatchObject({
    code: "DB_TLS_SERVER_USE",
    message: expect.stringContaining("no serverAuth"),
  });
});

test("a certificate for another name: the names that it has are listed", async () => {
  const pair = await issueCertificate(ours, { ...loopback, dnsNames: ["a.example", "b.example"] });
  const failure = await failureOf(await serve(pair), { name: "c.example" });
  expect(failure.code).toBe("DB_TLS_SERVER_NAME");
  expect(failure.message).toContain("is not for c.example, which was dialled, but for a.example, b.example, 127.0.0.1");
});

test.each([
  ["DNS:127.0.0.1, DNS:a.example", ": it has this address as a DNS name, and an address has to be an IP one"],
  [undefined, ": it has no subject alternative name, and its common name does not count"],
  ["DNS:a.example, IP Address:10.0.0.1", ", but for a.example, 10.0.0.1"],
])("whom a certificate with the names %j is for instead", (subjectAltName, words) => {
  expect(otherNames({ subjectAltName }, "127.0.0.1")).toBe(words);
});

test.each([
  ["HTTP/1.1 400 Bad Request\r\n\r\n", /does not speak TLS: it answered in plain text/],
  ["", /hung up during the TLS handshake/],
])("a port in the clear that answers %j", async (answer, words) => {
  const plain = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.end(answer));
  });
  const failure = await failureOf(await listen(plain));
  expect([failure.code, failure.message]).toEqual(["DB_TLS_NOT_SPOKEN", expect.stringMatching(words)]);
});

test("a server that has no HTTP/2 for us is another port", async () => {
  const failure = await failureOf(await serve(good, { ALPNProtocols: ["http/1.1"] }), { alpn: ["h2"] });
  expect(failure.code).toBe("DB_WRONG_PORT");
});

test("a server with TLS 1.2 that wants a certificate, and we have none", async () => {
  const mutual = { requestCert: true, ca: ours.certificatePem, maxVersion: "TLSv1.2" } as const;
  expect(await failureOf(await serve(good, mutual))).toMatchObject({
    code: "DB_TLS_OWN_MISSING",
    message: expect.stringContaining("this agent was given none"),
  });
});

test("what a refusal means is judged by our own certificate", async () => {
  const port = await serve(good);
  const refusal = async (own: PemPair | undefined, how = 'TLS alert "bad certificate"') => {
    const { socket, facts } = await dial(port, own === undefined ? {} : { own });
    socket.destroy();
    return [explainRefused(how, facts()), explainHangUp(facts(), undefined)];
  };
  const cases: [PemPair | undefined, string, string, RegExp][] = [
    [undefined, "DB_TLS_OWN_MISSING", "DB_SERVER_HUNG_UP", /given none/],
    [client, "DB_TLS_OWN_REFUSED", "DB_SERVER_HUNG_UP", /issuer "CN=our-ca", file agent\.crt.*--cluster-ca-cert/],
    [good, "DB_TLS_OWN_USE", "DB_TLS_OWN_USE", /no clientAuth/],
    [
      await issueCertificate(ours, { commonName: "an-agent", use: "client", now: yesterday }),
      "DB_TLS_OWN_EXPIRED",
      "DB_TLS_OWN_EXPIRED",
      /this agent's certificate \(subject "CN=an-agent", .*\) expired 1 d ago/,
    ],
  ];
  for (const [own, refused, silent, words] of cases) {
    const [first, second] = await refusal(own);
    expect([first!.code, second!.code]).toEqual([refused, silent]);
    expect(first!.message).toMatch(words);
    expect(second!.message).toMatch(words);
  }
  const [clocks] = await refusal(client, 'TLS alert "certificate expired"');
  expect(clocks).toMatchObject({
    code: "DB_TLS_CLOCK",
    message: expect.stringMatching(/server's clock is ahead, this one is behind, or an authority .*has expired/),
  });
  const [behind] = await refusal(client, 'it says "its certificate is not valid yet, only in 399 d"');
  expect(behind).toMatchObject({
    code: "DB_TLS_CLOCK",
    message: expect.stringMatching(
      /is valid since .*Z, and this host's clock says .*, so the server's clock is behind/,
    ),
    remedy: expect.stringMatching(/^Set the clocks of this host/),
  });
});

test("a link-local address without its interface is told what it lacks, whether it is refused or not answered", () => {
  const refused = Object.assign(new Error("connect EINVAL"), { code: "EINVAL", address: "fe80::1" });
  const lacking = "a link-local address needs its interface, as in fe80::1%eth0";
  expect(explainConnect("[fe80::1]:8091", refused)).toMatchObject({
    code: "DB_CONNECT_UNREACHABLE",
    message: `cannot connect to [fe80::1]:8091: ${lacking} (EINVAL).`,
    remedy: expect.stringContaining("fe80::1%eth0"),
  });
  expect(connectTimeout("[fe80::1]:8091", 5_000).message).toContain(lacking);
  expect(connectTimeout("[fe80::1%eth0]:8091", 5_000).message).not.toContain(lacking);
});

test("where our own files have expired as well as the server's, the clock is named, and not blamed", async () => {
  const port = await serve(await issueCertificate(ours, { ...loopback, now: yesterday }));
  const expired = await issueCertificate(ours, { commonName: "an-agent", use: "client", now: yesterday });
  expect(await failureOf(port, { own: expired })).toMatchObject({
    code: "DB_TLS_SERVER_EXPIRED",
    message: expect.stringMatching(
      /expired 1 d ago.*clock says .*Z, by which the files of this agent have expired too/,
    ),
    remedy: expect.stringMatching(/set this host's clock if it is ahead; otherwise renew/),
  });
  expect((await failureOf(port, { own: client })).message).not.toContain("expired too");
});

test("a stranger's subject is shown quoted, in one line, and cut", () => {
  const shown = quotedName(`O=x\u001b[2J\nCN="${"y".repeat(400)}`);
  expect(shown).toMatch(/^"CN=\\"y+\.\.\."$/);
  expect(shown.length).toBeLessThan(220);
  expect(quotedName("O=x\u001b[2J\nCN=a\u202eb")).toBe('"CN=a\ufffdb,O=x\ufffd[2J"');
});

test("alerts are told from other errors", () => {
  expect(alertIn({ reason: "tlsv1 alert unknown ca" })).toBe("unknown ca");
  expect(alertIn({ reason: "wrong version number" })).toBeUndefined();
  expect(alertIn(undefined)).toBeUndefined();
});

test("no other file of the tunnel opens TLS", () => {
  const folder = new URL("..", import.meta.url).pathname;
  const callers = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(test|fuzz)\.ts$|testing\//.test(file))
    .filter((file) =>
      /\btls\.connect\(|import \{[^}]*\bconnect\b[^}]*\} from "node:tls"/.test(
        readFileSync(join(folder, file), "utf8"),
      ),
    );
  expect(callers).toEqual(["outgoing/secure.ts"]);
});
