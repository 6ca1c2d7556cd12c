import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { Duplex } from "node:stream";
import tls, { type ConnectionOptions, type SecureVersion, type TLSSocket } from "node:tls";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { Connections, type ListenerLimits } from "../../base/connections.js";
import { listenOn } from "../../base/listen.js";
import { eventually } from "../../base/testing/eventually.js";
import { type Authority, createAuthority, issueCertificate, type PemPair } from "../pki/issue.js";
import { FrameType, frame, PREFACE, settings } from "./h2/frames.js";
import { createTlsListener, type PeerRefusal, type TlsListener, type TlsListenerOptions } from "./tls-listener.js";

const DAY_MS = 24 * 3_600_000;
const YEAR_AGO = new Date(Date.now() - 365 * DAY_MS);

let authority: Authority;
let server: PemPair;
const shown: Record<string, PemPair | undefined> = {};
beforeAll(async () => {
  const long = { validForMs: 1000 * DAY_MS, now: new Date(Date.now() - 400 * DAY_MS) };
  authority = await createAuthority({ commonName: "the-ca", ...long });
  const [other, twin] = [
    await createAuthority({ commonName: "other-ca", ...long }),
    await createAuthority({ commonName: "the-ca", ...long }),
  ];
  server = await issueCertificate(authority, { use: "server", commonName: "server", ipAddresses: ["127.0.0.1"] });
  const agent = { use: "client", commonName: "agent", organizations: ["o"] } as const;
  shown.good = await issueCertificate(authority, agent);
  shown.foreign = await issueCertificate(other, agent);
  shown.twin = await issueCertificate(twin, agent);
  shown.expired = await issueCertificate(authority, { ...agent, now: YEAR_AGO });
  shown.foreignAndExpired = await issueCertificate(other, { ...agent, now: YEAR_AGO });
  shown.early = await issueCertificate(authority, { ...agent, now: new Date(Date.now() + 2 * DAY_MS) });
  shown.server = await issueCertificate(authority, { use: "server", commonName: "agent", dnsNames: ["a.example"] });
});

class Visited {
  readonly connections = new Connections();
  readonly refused: PeerRefusal[] = [];
  /** What admitted peers have sent. */
  readonly heard: string[] = [];
  readonly admitted: TLSSocket[] = [];
  listener!: TlsListener;
  port = 0;

  async open(protocol: TlsListenerOptions["protocol"], limits: ListenerLimits = {}, asksPeers = true): Promise<this> {
    const own = { cert: server.certificatePem, key: server.privateKeyPem };
    const context = { ...own, ...(asksPeers && { ca: authority.certificatePem }) };
    this.listener = createTlsListener({
      ...{ context, protocol },
      onPeer: (socket) => {
        this.admitted.push(socket);
        socket.on("data", (chunk: Buffer) => this.heard.push(chunk.toString("latin1")));
        socket.on("error", () => {});
        socket.write("in");
      },
      onRefused: (peer) => this.refused.push(peer),
    });
    await listenOn(this.listener.server, "agent", { host: "127.0.0.1", port: 0 }, limits, this.connections);
    this.port = (this.listener.server.address() as AddressInfo).port;
    endings.push(() => this.listener.server.close());
    return this;
  }

  /** Connects, sends at once, and answers what came until the connection was closed, or `in`. */
  async visit(pair: PemPair | undefined, bytes: Uint8Array, options: ConnectionOptions): Promise<string> {
    const socket = tls.connect({
      ...{ host: "127.0.0.1", port: this.port, ca: authority.certificatePem },
      ...(pair && { cert: pair.certificatePem, key: pair.privateKeyPem }),
      ...options,
    });
    endings.push(() => socket.destroy());
    socket.on("error", () => {});
    // Queued behind the handshake, so that it leaves with the client's Finished.
    socket.write(bytes);
    let text = "";
    socket.on("data", (chunk) => {
      text += String(chunk);
    });
    await eventually(() => expect(text === "in" || socket.closed).toBe(true));
    return text;
  }
}

const endings: (() => unknown)[] = [];
afterEach(() => {
  for (const end of endings.splice(0).reverse()) end();
});

const CALL = Buffer.concat([PREFACE, settings([]), frame(FrameType.HEADERS, 5, 1, Buffer.from([0x83, 0x87, 0x84]))]);
const CONNECT = Buffer.from("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n");

const REFUSALS: readonly [name: string, code: string, reason: RegExp][] = [
  ["none", "DB_PEER_NO_CERT", /^it showed no certificate: .* not of "CN=the-ca", as Go programs do$/],
  [
    "foreign",
    "DB_PEER_CERT_UNTRUSTED",
    /^its certificate was issued by "CN=other-ca", and this listener trusts "CN=the-ca"$/,
  ],
  [
    "twin",
    "DB_PEER_CERT_UNTRUSTED",
    /^its certificate was signed by another key than that of the CA "CN=the-ca" .*: the files come from different issues, so that it needs /,
  ],
  ["expired", "DB_PEER_CERT_EXPIRED", /^its certificate expired on \d{4}-\S+Z$/],
  ["foreignAndExpired", "DB_PEER_CERT_UNTRUSTED", /^its certificate was issued by "CN=other-ca"/],
  ["early", "DB_PEER_CERT_NOT_YET_VALID", /^its certificate is not valid yet, only from \d{4}-\S+Z$/],
  ["server", "DB_PEER_CERT_USE", /^its certificate is not for TLS clients/],
];

const PROTOCOLS = [
  ["h2", CALL],
  ["http/1.1", CONNECT],
] as const;

describe.each(["TLSv1.2", "TLSv1.3"] as const)("with %s", (version: SecureVersion) => {
  const only = { minVersion: version, maxVersion: version };

  describe.each(PROTOCOLS)("and %s", (protocol, request) => {
    test.each(REFUSALS)("a peer with this certificate is named, told and not read: %s", async (name, code, reason) => {
      const visited = await new Visited().open(protocol);
      const said = await visited.visit(shown[name], request, { ...only, ALPNProtocols: [protocol] });
      const certificate = { subject: /^CN=agent/, serial: /^[0-9A-F]+$/ };
      expect(visited.refused).toEqual([
        {
          ...{ code, remote: expect.stringMatching(/^127\.0\.0\.1:\d+$/), reason: expect.stringMatching(reason) },
          ...(name === "none"
            ? {}
            : {
                certificate: {
                  subject: expect.stringMatching(certificate.subject),
                  issuer: expect.stringMatching(/^CN=(the|other)-ca$/),
                  serial: expect.stringMatching(certificate.serial),
                  notBeforeAt: expect.any(Number),
                  notAfterAt: expect.any(Number),
                },
              }),
        },
      ]);
      expect(said).toContain(visited.refused[0]!.reason);
      expect(said.startsWith(protocol === "h2" ? "\0\0\0\x04" : "HTTP/1.1 403 ")).toBe(true);
      expect(visited.heard).toEqual([]);
    });

    test("a peer with a good certificate is admitted, and what it sent at once is read", async () => {
      const visited = await new Visited().open(protocol);
      expect(await visited.visit(shown.good, request, { ...only, ALPNProtocols: [protocol] })).toBe("in");
      await eventually(() => expect(visited.heard.join("")).toBe(request.toString("latin1")));
      expect(visited.refused).toEqual([]);
    });
  });

  test("a session of an admitted peer admits nobody without its certificate", async () => {
    const visited = await new Visited().open("http/1.1");
    const sessions: Buffer[] = [];
    const common = { host: "127.0.0.1", port: visited.port, ca: authority.certificatePem, ...only };
    const good = { cert: shown.good!.certificatePem, key: shown.good!.privateKeyPem };
    const first = tls.connect({ ...common, ...good });
    endings.push(() => first.destroy());
    first.on("session", (session) => sessions.push(session));
    await once(first, "data");
    const last = first.getSession();
    if (last !== undefined) sessions.push(last);
    expect(sessions.length).toBeGreaterThan(0);
    for (const session of sessions) {
      const said = await visited.visit(undefined, CONNECT, { ...only, session });
      expect(said).toMatch(/^HTTP\/1\.1 403 .*it showed no certificate/s);
    }
    expect(visited.refused.map(({ code }) => code)).toEqual(sessions.map(() => "DB_PEER_NO_CERT"));
    expect(visited.heard).toEqual([]);
  });
});

test("an admitted peer cannot become another by renegotiation", async () => {
  const visited = await new Visited().open("http/1.1");
  const good = { cert: shown.good!.certificatePem, key: shown.good!.privateKeyPem };
  const common = {
    host: "127.0.0.1",
    port: visited.port,
    ca: authority.certificatePem,
    maxVersion: "TLSv1.2",
  } as const;
  const socket = tls.connect({ ...common, ...good });
  endings.push(() => socket.destroy());
  await once(socket, "data");
  const failed = once(socket, "error");
  socket.renegotiate({ rejectUnauthorized: true }, () => {});
  expect(String((await failed)[0])).toMatch(/renegotiation/);
});

test("a refused peer that stays stays pending: it is closed for the next one", async () => {
  const visited = await new Visited().open("h2", { maxPending: 1 });
  const stubborn = { host: "127.0.0.1", port: visited.port, ca: authority.certificatePem, ALPNProtocols: ["h2"] };
  const first = tls.connect({ ...stubborn, allowHalfOpen: true } as ConnectionOptions).on("error", () => {});
  endings.push(() => first.destroy());
  await eventually(() => expect(visited.refused).toHaveLength(1));
  const reasons: string[] = [];
  visited.connections.subscribe(({ reason }) => reasons.push(reason));
  const second = net.connect(visited.port, "127.0.0.1").on("error", () => {});
  endings.push(() => second.destroy());
  await eventually(() => expect(reasons).toEqual(["pending-limit"]));
});

test.each<
  [what: string, protocol: "h2" | "http/1.1", visit: (port: number) => net.Socket, code: string, reason: RegExp]
>([
  ["plain HTTP", "h2", say("GET / HTTP/1.1\r\n\r\n"), "DB_PEER_PLAIN_TEXT", /^it sent an HTTP request without TLS$/],
  [
    "CONNECT in the clear",
    "http/1.1",
    say(CONNECT),
    "DB_PEER_PLAIN_TEXT",
    /^it sent an HTTP CONNECT request without TLS$/,
  ],
  ["HTTP/2 in the clear", "h2", say(CALL), "DB_PEER_PLAIN_TEXT", /^its first bytes are not TLS$/],
  [
    "gRPC to CONNECT",
    "http/1.1",
    offer(["h2"]),
    "DB_PEER_WRONG_PORT",
    /^by ALPN it offered other protocols than http\/1\.1 \(HTTP CONNECT\), which is all that this listener takes$/,
  ],
  [
    "HTTP/1.1 to gRPC",
    "h2",
    offer(["http/1.1"]),
    "DB_PEER_WRONG_PORT",
    /^by ALPN it offered other .* than h2 \(HTTP\/2\), which/,
  ],
  [
    "no ALPN to gRPC",
    "h2",
    offer(undefined),
    "DB_PEER_WRONG_PORT",
    /^it did not ask for HTTP\/2: it offered no .* only h2$/,
  ],
  [
    "an old TLS version",
    "h2",
    offer(["h2"], { minVersion: "TLSv1", maxVersion: "TLSv1.1" }),
    "DB_PEER_TLS",
    /unsupported protocol/,
  ],
  [
    "a client that does not trust the server",
    "h2",
    distrustful,
    "DB_PEER_DISTRUSTS",
    /^it does not accept this server's certificate \(TLS alert "unknown ca"\)$/,
  ],
])("%s is refused by its own name", async (_what, protocol, visit, code, reason) => {
  const visited = await new Visited().open(protocol);
  const socket = visit(visited.port).on("error", () => {});
  endings.push(() => socket.destroy());
  await eventually(() => expect(visited.refused).toHaveLength(1));
  expect(visited.refused[0]).toMatchObject({ code, reason: expect.stringMatching(reason) });
  expect(visited.heard).toEqual([]);
});

describe.each(["TLSv1.2", "TLSv1.3"] as const)("a peer that shows a good certificate with %s", (version) => {
  /** Answers the client once both sides have finished the handshake. */
  const meet = async (visited: Visited, protocol: TlsListenerOptions["protocol"], plain?: net.Socket) => {
    const socket = tls.connect({
      ...{ socket: plain ?? net.connect(visited.port, "127.0.0.1"), rejectUnauthorized: false },
      ALPNProtocols: [protocol],
      ...{ cert: shown.good!.certificatePem, key: shown.good!.privateKeyPem },
      ...{ minVersion: version, maxVersion: version },
    });
    socket.on("error", () => {});
    endings.push(() => socket.destroy());
    await eventually(() => expect(visited.admitted).toHaveLength(1));
    return socket;
  };
  const isOver = ({ admitted }: Visited) => eventually(() => expect(admitted[0]!.closed).toBe(true));

  test.each<[how: string, protocol: "h2" | "http/1.1", leave: (socket: TLSSocket, plain: net.Socket) => void]>([
    ["h2 with an end", "h2", (socket) => socket.end()],
    ["h2 at once", "h2", (socket) => socket.destroy()],
    ["CONNECT with an end", "http/1.1", (socket) => socket.end()],
    ["CONNECT with a reset", "http/1.1", (_socket, plain) => plain.resetAndDestroy()],
  ])("and hangs up without a word is named once, with what that means: %s", async (_how, protocol, leave) => {
    const visited = await new Visited().open(protocol);
    const plain = net.connect(visited.port, "127.0.0.1").on("error", () => {});
    leave(await meet(visited, protocol, plain), plain);
    await isOver(visited);
    expect(visited.refused).toEqual([
      {
        ...{ code: "DB_PEER_HUNG_UP", remote: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
        reason:
          'it hung up right after TLS without a word, as clients do that do not trust this server\'s certificate ("CN=server", of "CN=the-ca")',
        certificate: expect.objectContaining({ subject: expect.stringMatching(/^CN=agent/), issuer: "CN=the-ca" }),
      },
    ]);
  });

  test("is named with the certificate that was put into service last", async () => {
    const visited = await new Visited().open("h2");
    const next = await issueCertificate(authority, { use: "server", commonName: "next", ipAddresses: ["127.0.0.1"] });
    const { certificatePem: cert, privateKeyPem: key } = next;
    visited.listener.setSecureContext({ cert, key, ca: authority.certificatePem });
    (await meet(visited, "h2")).end();
    await eventually(() => expect(visited.refused[0]?.reason).toContain('("CN=next", of "CN=the-ca")'));
  });

  test("is named with the end of this server's certificate, and told to renew it", async () => {
    const visited = await new Visited().open("h2");
    const life = { now: new Date(Date.now() - 7_200_000), validForMs: 3_600_000 };
    const ended = await issueCertificate(authority, {
      use: "server",
      commonName: "old",
      dnsNames: ["a.example"],
      ...life,
    });
    const { certificatePem: cert, privateKeyPem: key } = ended;
    visited.listener.setSecureContext({ cert, key, ca: authority.certificatePem });
    (await meet(visited, "h2")).end();
    await eventually(() => expect(visited.refused).toHaveLength(1));
    expect(visited.refused[0]).toMatchObject({
      reason: expect.stringMatching(/this server's certificate \("CN=old", .*\), which expired on \d{4}-\S+Z$/),
      remedy: expect.stringMatching(/^Renew this server's certificate/),
    });
  });

  test.each<[why: string, limits: ListenerLimits, leave: (visited: Visited, socket: TLSSocket) => unknown]>([
    ["it has said something", {}, (_visited, socket) => socket.end("P")],
    ["the server ended it", {}, ({ admitted: [peer] }, socket) => [socket.resume(), peer!.end()]],
    ["the server destroyed it", {}, ({ admitted: [peer] }) => peer!.destroy()],
    ["the server closed it for saying nothing in time", { requestTimeoutMs: 1 }, () => {}],
    [
      "the server was shutting down",
      {},
      ({ listener }, socket) => {
        listener.server.close();
        socket.end();
      },
    ],
    [
      "it waited before it left",
      {},
      (_visited, socket) => {
        const now = performance.now() + 6_000;
        vi.spyOn(performance, "now").mockReturnValue(now);
        endings.push(() => vi.restoreAllMocks());
        socket.end();
      },
    ],
  ])("is not named when %s", async (_why, limits, leave) => {
    const visited = await new Visited().open("h2", limits);
    leave(visited, await meet(visited, "h2"));
    await isOver(visited);
    expect(visited.refused).toEqual([]);
  });

  test("is not named where no certificate is asked for", async () => {
    const visited = await new Visited().open("h2", {}, false);
    (await meet(visited, "h2")).end();
    await isOver(visited);
    expect(visited.refused).toEqual([]);
  });
});

test("of a crowd that hangs up at once only some are named", async () => {
  const visited = await new Visited().open("h2");
  const { certificatePem: cert, privateKeyPem: key } = shown.good!;
  const peer = { host: "127.0.0.1", port: visited.port, rejectUnauthorized: false, ALPNProtocols: ["h2"], cert, key };
  const crowd = Array.from({ length: 40 }, () => tls.connect(peer).on("error", () => {}));
  endings.push(() => {
    for (const each of crowd) each.destroy();
  });
  await eventually(() => expect(visited.admitted).toHaveLength(40));
  for (const each of crowd) each.end();
  await eventually(() => expect(visited.admitted.every(({ closed }) => closed)).toBe(true));
  expect(visited.refused.length).toBeGreaterThan(0);
  expect(visited.refused.length).toBeLessThan(30);
});

test("a health check is not said to have hung up", async () => {
  const visited = await new Visited().open("http/1.1");
  net.connect(visited.port, "127.0.0.1").end();
  const check = tls.connect({ host: "127.0.0.1", port: visited.port, rejectUnauthorized: false });
  check.on("error", () => {}).once("secureConnect", () => check.end());
  endings.push(() => check.destroy());
  await eventually(() => expect(visited.refused.map(({ code }) => code)).toEqual(["DB_PEER_NO_CERT"]));
});

function say(bytes: string | Buffer) {
  return (port: number): net.Socket =>
    net.connect(port, "127.0.0.1", function (this: net.Socket) {
      this.write(bytes);
    });
}

function offer(protocols: string[] | undefined, more: ConnectionOptions = {}) {
  return (port: number): net.Socket =>
    tls.connect({
      ...{ host: "127.0.0.1", port, ca: authority.certificatePem, ciphers: "DEFAULT:@SECLEVEL=0" },
      ...{ cert: shown.good!.certificatePem, key: shown.good!.privateKeyPem },
      ...(protocols && { ALPNProtocols: protocols }),
      ...more,
    });
}

/** Answers the server's certificate with an alert, which TLS 1.2 sends in the clear. Node's clients send none. */
function distrustful(port: number): net.Socket {
  const far = net.connect(port, "127.0.0.1");
  const near = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      far.write(chunk, done);
    },
  });
  const client = tls.connect({ socket: near, maxVersion: "TLSv1.2", ALPNProtocols: ["h2"] }).on("error", () => {});
  endings.push(() => client.destroy());
  const [fatal, unknownCa] = [2, 48];
  far.once("data", () => far.write(Buffer.from([0x15, 3, 3, 0, 2, fatal, unknownCa])));
  return far;
}
