/** Peers without a good certificate, whose TLS handshakes succeed all the same: nothing that they send may be read. */
import { readFileSync } from "node:fs";
import { type ConnectionOptions, connect, createSecureContext, type SecureVersion, type TLSSocket } from "node:tls";
import { createAuthority, issueCertificate, loadAuthority, type PemPair } from "../../src/tunnel/pki/issue.js";
import { type Attack, BOUND_MIB, type ListenerName, type Target } from "../attack.js";
import type { Work } from "../harness/work.js";
import { Flag, FrameType, PREFACE, ping, settings } from "../raw/frames.js";
import { CONNECT_PATH, openCall, PROXY_PATH } from "../raw/headers.js";

const LISTENERS = ["agents", "grpc-tls", "connect-tls"] as const satisfies readonly ListenerName[];
const VERSIONS: readonly SecureVersion[] = ["TLSv1.2", "TLSv1.3"];
const AGAINST = "agents' listener and both frontends with TLS, without a good certificate";
const HOUR_MS = 3_600_000;
const ANSWER_WITHIN_MS = 3_000;

/** One listener, the certificates that do not open it, and one that does. */
interface Gate {
  readonly name: (typeof LISTENERS)[number];
  readonly tls: ConnectionOptions;
  readonly good: PemPair;
  readonly bad: Readonly<Record<string, PemPair | undefined>>;
  /** What would be answered if it were read, with an answer to each of its parts. */
  readonly request: Buffer;
}

const read = (path: string): string => readFileSync(path, "utf8");

async function gatesOf({ listeners, echo }: Target): Promise<Gate[]> {
  return await Promise.all(
    LISTENERS.map(async (name) => {
      const place = listeners[name];
      if (place?.kind !== "tls") throw new Error(`${name} has no TLS`);
      const certificatePem = read(place.ca);
      const own = await loadAuthority({ certificatePem, privateKeyPem: read(place.ca.replace(/\.pem$/, ".key")) });
      const foreign = await createAuthority({ commonName: "foreign-ca" });
      // Its name is the one that is trusted, its key is not.
      const twin = await createAuthority({ commonName: place.ca.endsWith("cluster-ca.pem") ? CLUSTER : FRONTEND });
      const client = { use: "client", commonName: "attacker" } as const;
      const ended = { validForMs: HOUR_MS, now: new Date(Date.now() - 48 * HOUR_MS) };
      const path = name === "agents" ? CONNECT_PATH : PROXY_PATH;
      return {
        name,
        tls: {
          ...{ host: "127.0.0.1", port: place.port, ca: certificatePem },
          ALPNProtocols: name === "connect-tls" ? ["http/1.1"] : ["h2"],
        },
        good: { certificatePem: read(place.cert!), privateKeyPem: read(place.key!) },
        bad: {
          "no certificate": undefined,
          "a foreign certificate": await issueCertificate(foreign, client),
          "a certificate of a CA with the right name": await issueCertificate(twin, client),
          "an expired certificate": await issueCertificate(own, { ...client, ...ended }),
          "a server's certificate": await issueCertificate(own, { ...client, use: "server", dnsNames: ["a.example"] }),
        },
        request:
          name === "connect-tls"
            ? Buffer.from(`CONNECT ${echo} HTTP/1.1\r\nHost: ${echo}\r\n\r\n`)
            : Buffer.concat([PREFACE, settings(), openCall(1, path, { agentid: "attacker" }), ping()]),
      };
    }),
  );
}

const CLUSTER = "drawbridge-test-cluster-ca";
const FRONTEND = "drawbridge-test-frontend-ca";

const shown = (pair: PemPair | undefined): ConnectionOptions =>
  pair ? { cert: pair.certificatePem, key: pair.privateKeyPem } : {};

/** Connects and sends the request in the flight of the Finished. */
function ask(work: Work, gate: Gate, options: ConnectionOptions): { readonly socket: TLSSocket; answer(): Buffer } {
  const socket = connect({ ...gate.tls, ...options });
  work.adopt(socket);
  socket.on("error", () => {});
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // Queued until the handshake is done, and then written behind its last message.
  socket.write(gate.request);
  return { socket, answer: () => Buffer.concat(chunks) };
}

/** The time of the round may be over before the last of them; the attack is not. */
async function soon(condition: () => boolean): Promise<boolean> {
  const giveUpAt = performance.now() + ANSWER_WITHIN_MS;
  while (!condition() && performance.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 5));
  return condition();
}

function frameTypes(answer: Buffer): [type: number, acknowledged: boolean][] {
  const types: [number, boolean][] = [];
  for (let at = 0; at + 9 <= answer.length; at += 9 + answer.readUIntBE(at, 3)) {
    types.push([answer[at + 3]!, (answer[at + 4]! & Flag.ACK) !== 0]);
  }
  return types;
}

/** What shows that the request was read: undefined when nothing does. */
function signOfReading(gate: Gate, answer: Buffer): string | undefined {
  if (gate.name === "connect-tls") {
    const line = answer.toString("latin1").split("\r\n")[0]!;
    return line === "" || /^HTTP\/1\.1 403 /.test(line) ? undefined : `it was answered with "${line}"`;
  }
  for (const [type, acknowledged] of frameTypes(answer)) {
    if (type === FrameType.GOAWAY || (type === FrameType.SETTINGS && !acknowledged)) continue;
    return `it was answered with an HTTP/2 frame of type ${type}${acknowledged ? " that acknowledges" : ""}`;
  }
  return undefined;
}

/** Whether the request itself was answered, as that of a good peer is. */
function taken(gate: Gate, answer: Buffer): boolean {
  if (gate.name === "connect-tls") return answer.toString("latin1").startsWith("HTTP/1.1 200 ");
  return frameTypes(answer).some(([type]) => type === FrameType.HEADERS);
}

/** Undefined when the peer was refused, and nothing of what it sent was read. */
async function leak(work: Work, gate: Gate, options: ConnectionOptions): Promise<string | undefined> {
  const { socket, answer } = ask(work, gate, options);
  const closed = await soon(() => socket.closed || signOfReading(gate, answer()) !== undefined);
  work.drop(socket);
  return signOfReading(gate, answer()) ?? (closed ? undefined : "it was not ended");
}

/** A peer with a good certificate, once its request was answered. */
async function admitted(work: Work, gate: Gate, options: ConnectionOptions): Promise<TLSSocket | undefined> {
  const { socket, answer } = ask(work, gate, { ...shown(gate.good), ...options });
  if (await soon(() => taken(gate, answer()))) return socket;
  work.violation(`${gate.name}: the good certificate did not get in, so that the attack says nothing`);
  return undefined;
}

const only = (version: SecureVersion): ConnectionOptions => ({ minVersion: version, maxVersion: version });

async function everywhere(
  target: Target,
  attack: (gate: Gate, version: SecureVersion) => Promise<unknown>,
): Promise<void> {
  for (const gate of await gatesOf(target)) for (const version of VERSIONS) await attack(gate, version);
}

const common = { against: AGAINST, fixture: "server", boundMiB: BOUND_MIB, noSink: true, seconds: 4 } as const;

const firstFlight: Attack = {
  ...common,
  name: "refused-first-flight",
  description: "no certificate or a bad one, with a call or a CONNECT in the flight of the TLS Finished: none is read",
  async run(target, work) {
    await everywhere(target, async (gate, version) => {
      const socket = await admitted(work, gate, only(version));
      if (socket) work.drop(socket);
      for (const [what, pair] of Object.entries(gate.bad)) {
        const found = await leak(work, gate, { ...only(version), ...shown(pair) });
        if (found !== undefined) work.violation(`${gate.name}, ${version}, ${what}: ${found}`);
      }
    });
  },
};

const resumption: Attack = {
  ...common,
  name: "refused-resumption",
  description: "TLS sessions of admitted and of refused peers, resumed without a certificate and with a bad one",
  async run(target, work) {
    let count = 0;
    await everywhere(target, async (gate, version) => {
      const sessions: [whose: string, session: Buffer][] = [];
      const collect = (whose: string, socket: TLSSocket) => {
        socket.on("session", (session: Buffer) => sessions.push([whose, session]));
      };
      const friend = ask(work, gate, { ...shown(gate.good), ...only(version) });
      collect("an admitted peer", friend.socket);
      if (!(await soon(() => taken(gate, friend.answer())))) {
        work.violation(`${gate.name}: the good certificate did not get in, so that the attack says nothing`);
      }
      const last = friend.socket.getSession();
      if (last) sessions.push(["an admitted peer", last]);
      work.drop(friend.socket);
      for (const pair of [undefined, gate.bad["an expired certificate"]]) {
        const refused = ask(work, gate, { ...shown(pair), ...only(version) });
        collect("a refused peer", refused.socket);
        refused.socket.once("secureConnect", () => {
          const session = refused.socket.getSession();
          if (session) sessions.push(["a refused peer", session]);
        });
        await soon(() => refused.socket.closed);
        work.drop(refused.socket);
      }
      count += sessions.length;
      for (const [whose, session] of sessions) {
        for (const what of ["no certificate", "an expired certificate"]) {
          const found = await leak(work, gate, { ...only(version), ...shown(gate.bad[what]), session });
          if (found !== undefined) work.violation(`${gate.name}, ${version}, session of ${whose}, ${what}: ${found}`);
        }
      }
    });
    if (count === 0) work.violation("there was no session to resume, so that the attack says nothing");
    work.note(`${count} sessions to resume`);
  },
};

const renegotiation: Attack = {
  ...common,
  name: "refused-renegotiation",
  against: "agents' listener and both frontends with TLS, with a good certificate at first",
  description: "an admitted peer renegotiates TLS 1.2 to become another, with a foreign certificate",
  async run(target, work) {
    for (const gate of await gatesOf(target)) {
      const socket = await admitted(work, gate, only("TLSv1.2"));
      if (!socket) continue;
      socket.setKeyCert(createSecureContext(shown(gate.bad["a foreign certificate"])));
      let outcome = "nothing";
      socket.once("error", () => {
        outcome = "refused";
      });
      socket.renegotiate({ rejectUnauthorized: false }, (error) => {
        outcome = error === null ? "done" : "refused";
      });
      await soon(() => outcome !== "nothing" || socket.closed);
      if (outcome === "done") work.violation(`${gate.name}: the peer became another by renegotiation`);
      else if (outcome === "nothing" && !socket.closed) work.violation(`${gate.name}: renegotiation had no answer`);
      work.drop(socket);
    }
  },
};

/** What makes a handshake fail, at once and early; the rest have a bad certificate. */
const GARBAGE = [
  Buffer.from("GET / HTTP/1.1\r\n\r\n"),
  Buffer.from("CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n"),
  PREFACE,
  Buffer.alloc(512, 0xee),
];

const flood: Attack = {
  name: "bad-handshake-flood",
  against: AGAINST,
  description: "handshakes that fail, twelve at a time: plain text, garbage, no certificate, foreign ones",
  fixture: "server",
  boundMiB: BOUND_MIB,
  mustEnd: true,
  async run(target, work) {
    const gates = await gatesOf(target);
    let turn = 0;
    const one = async (): Promise<void> => {
      while (!work.over) {
        const gate = gates[turn % gates.length]!;
        const kind = Math.floor(turn++ / gates.length) % (GARBAGE.length + 2);
        const bytes = GARBAGE[kind];
        const socket =
          bytes === undefined
            ? ask(work, gate, shown(gate.bad[kind % 2 === 0 ? "no certificate" : "a foreign certificate"])).socket
            : work.connectBelow(target.listeners[gate.name]!).resume();
        if (bytes !== undefined) socket.write(bytes);
        if (!(await soon(() => socket.closed)))
          work.violation(`${gate.name}: a failed handshake of kind ${kind} was held`);
        await work.sleep(40);
      }
    };
    await Promise.all(Array.from({ length: 12 }, one));
    work.note(`${turn} handshakes`);
  },
};

export const refusedCertificates: readonly Attack[] = [firstFlight, resumption, renegotiation, flood];
