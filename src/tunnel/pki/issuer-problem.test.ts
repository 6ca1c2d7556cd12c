import "reflect-metadata";
import { webcrypto, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import * as x509 from "@peculiar/x509";
import { expect, test } from "vitest";
import { createTlsListener, type PeerRefusal } from "../link/tls-listener.js";
import { explainPeer } from "../outgoing/explain.js";
import { dialFacts } from "../outgoing/facts.js";
import { DAY_MS } from "./request.js";

interface Maker {
  readonly name: string;
  readonly keys: webcrypto.CryptoKeyPair;
}

interface Plan {
  readonly hash?: string;
  readonly ended?: boolean;
  readonly extensions?: readonly x509.Extension[];
}

const EC = { name: "ECDSA", namedCurve: "P-256" } as const;
const makeKeys = async () =>
  (await webcrypto.subtle.generateKey(EC, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;

/** A certificate that may be as wrong as the plan says, and its key. */
async function make(name: string, by: Maker | undefined, { hash = "SHA-256", ended = false, extensions = [] }: Plan) {
  const keys = await makeKeys();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${name}`,
    issuer: `CN=${by?.name ?? name}`,
    notBefore: new Date(Date.now() - 2 * DAY_MS),
    notAfter: new Date(Date.now() + (ended ? -1 : 1) * DAY_MS),
    signingAlgorithm: { name: "ECDSA", hash },
    publicKey: keys.publicKey,
    signingKey: (by?.keys ?? keys).privateKey,
    extensions: [...extensions],
  });
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { name, keys, pem: `${certificate.toString("pem")}\n`, key: x509.PemConverter.encode(pkcs8, "PRIVATE KEY") };
}

const authority = (pathLength?: number) => new x509.BasicConstraintsExtension(true, pathLength, true);
const both = new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
const names = new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }]);
/** Permits 10.0.0.0/8 alone. */
const constraints = new x509.Extension("2.5.29.30", true, Buffer.from("300ea00c300a87080a000000ff000000", "hex"));

test.each<[string, { root?: Plan; middle?: Plan; leaf?: Plan }, RegExp]>([
  [
    "an issuer that is no authority",
    { root: { extensions: [new x509.BasicConstraintsExtension(false, undefined, true)] } },
    /has an issuer, "CN=root", that may not issue certificates \(CA:FALSE/,
  ],
  [
    "an authority below one that allows none",
    { root: { extensions: [authority(0)] }, middle: { extensions: [authority()] } },
    /has more authorities above it \("CN=middle", "CN=root"\) than one of them allows \(pathlen/,
  ],
  [
    "an authority that may not certify these names",
    { root: { extensions: [authority(), constraints] } },
    /has names that its issuer "CN=root" may not certify \(name constraints\)/,
  ],
  [
    "an issuer that has expired",
    { root: { ended: true, extensions: [authority()] } },
    /issuer,? "CN=root",? .*expired/,
  ],
])(
  "both sides of a handshake name %s",
  async (_, { root = { extensions: [authority()] }, middle, leaf = {} }, words) => {
    const top = await make("root", undefined, root);
    const between = middle && (await make("middle", top, middle));
    const own = await make("leaf", between ?? top, { ...leaf, extensions: [both, names, ...(leaf.extensions ?? [])] });
    const cert = own.pem + (between?.pem ?? "");
    const refused: PeerRefusal[] = [];
    const context = { cert, key: own.key, ca: top.pem };
    const { server } = createTlsListener({
      ...{ context, protocol: "h2", onPeer: (socket) => socket.destroy() },
      onRefused: (peer) => refused.push(peer),
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const socket = tls.connect({
      host: "127.0.0.1",
      port,
      ...context,
      ALPNProtocols: ["h2"],
      rejectUnauthorized: false,
    });
    await once(socket, "secureConnect");
    const verdict = String(socket.authorizationError);
    const peer = [new X509Certificate(own.pem), ...(between ? [new X509Certificate(between.pem)] : [])];
    const credentials = { self: "this agent", set: { ca: top.pem }, admittedBy: "--cluster-ca-cert" };
    const failure = explainPeer(
      verdict,
      dialFacts({ where: `127.0.0.1:${port}`, name: "127.0.0.1", peer }, credentials),
    );
    socket.on("error", () => {}).resume();
    if (!socket.closed) await once(socket, "close");
    server.close();
    expect(failure.message).toMatch(words);
    expect(refused).toMatchObject([{ code: "DB_PEER_CERT_CHAIN", reason: expect.stringMatching(words) }]);
  },
);
