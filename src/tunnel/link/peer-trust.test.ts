import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import tls, { TLSSocket } from "node:tls";
import * as x509 from "@peculiar/x509";
import { afterEach, expect, test, vi } from "vitest";
import { Connections } from "../../base/connections.js";
import { DAY_MS } from "../pki/request.js";
import { PeerTrust, type Refusal } from "./peer-trust.js";

interface Made {
  readonly name: string;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly pem: string;
  readonly key: string;
}

const IS_CA = new x509.BasicConstraintsExtension(true, undefined, true);
const FOR_CLIENTS = new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.2"]);

async function make(name: string, by: Made | undefined, days: number, ...extensions: x509.Extension[]): Promise<Made> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" } as const;
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as webcrypto.CryptoKeyPair;
  const certificate = await x509.X509CertificateGenerator.create({
    ...{ subject: `CN=${name}`, issuer: `CN=${by?.name ?? name}` },
    ...{ notBefore: new Date(Date.now() - 9 * DAY_MS), notAfter: new Date(Date.now() + days * DAY_MS) },
    ...{ publicKey: keys.publicKey, signingKey: (by?.keys ?? keys).privateKey, extensions },
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  const pkcs8 = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { name, keys, pem: `${certificate.toString("pem")}\n`, key: x509.PemConverter.encode(pkcs8, "PRIVATE KEY") };
}

const endings: (() => unknown)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
  vi.restoreAllMocks();
});

/** A listener's side of a connection whose peer shows these certificates, and the judge with a clock that can be moved. */
async function judged(ca: string, own: Made, ...behind: readonly Made[]) {
  const server = tls.createServer({ cert: own.pem, key: own.key, ca, requestCert: true, rejectUnauthorized: false });
  new Connections().watch(server, "agent", false, {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = tls.connect({
    ...{ host: "127.0.0.1", port: (server.address() as AddressInfo).port, rejectUnauthorized: false },
    ...{ cert: [own, ...behind].map(({ pem }) => pem).join(""), key: own.key },
  });
  client.on("error", () => {});
  endings.push(
    () => client.destroy(),
    () => server.close(),
  );
  const [socket] = (await once(server, "secureConnection")) as [TLSSocket];
  endings.push(() => socket.destroy());
  let now = Date.now();
  const trust = new PeerTrust({ ca }, () => now);
  const verdict: Refusal | undefined = trust.verdict(socket);
  return {
    verdict,
    refusalAfter(days: number): Refusal | undefined {
      now += days * DAY_MS;
      return trust.refusal(socket);
    },
    refusalWith(bundle: string): Refusal | undefined {
      trust.update({ ca: bundle });
      return trust.refusal(socket);
    },
  };
}

test("a peer has to connect again when the certificate of its issuer has ended, with every request", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const middle = await make("middle", root, 3, IS_CA);
  const { verdict, refusalAfter } = await judged(root.pem, await make("agent", middle, 30, FOR_CLIENTS), middle);
  expect([verdict, refusalAfter(1)]).toEqual([undefined, undefined]);
  const ended = {
    code: "DB_PEER_CERT_EXPIRED",
    reason: expect.stringMatching(/^the certificate of its issuer "CN=middle" ended on /),
    certificate: expect.objectContaining({ subject: "CN=agent" }),
  };
  expect([refusalAfter(3), refusalAfter(0)]).toEqual([ended, ended]);
});

test("what a peer sends besides its chain is not held against it", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const old = await make("old", undefined, -1, IS_CA);
  const { verdict, refusalAfter } = await judged(root.pem, await make("agent", root, 30, FOR_CLIENTS), old);
  expect([verdict, refusalAfter(1)]).toEqual([undefined, undefined]);
  expect(refusalAfter(30)).toMatchObject({ reason: expect.stringMatching(/^its certificate ended on /) });
});

test("an authority that was renewed with its key is judged by its newer certificate", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const before = await x509.X509CertificateGenerator.create({
    ...{ subject: "CN=root", issuer: "CN=root", extensions: [IS_CA] },
    ...{ notBefore: new Date(Date.now() - 9 * DAY_MS), notAfter: new Date(Date.now() + DAY_MS) },
    ...{ publicKey: root.keys.publicKey, signingKey: root.keys.privateKey },
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
  });
  const bundle = `${before.toString("pem")}\n${root.pem}`;
  const { refusalAfter } = await judged(bundle, await make("agent", root, 30, FOR_CLIENTS));
  expect(refusalAfter(5)).toBeUndefined();
});

test("a connection from before a change of the authorities is judged by those that are in force", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const next = await make("next", undefined, 90, IS_CA);
  const namesake = await make("root", undefined, 90, IS_CA);
  const { refusalWith, refusalAfter } = await judged(root.pem, await make("agent", root, 30, FOR_CLIENTS));
  const replaced = { code: "DB_PEER_CERT_UNTRUSTED", reason: expect.stringContaining("was replaced after") };
  expect(refusalWith(`${root.pem}${next.pem}`)).toBeUndefined();
  expect(refusalWith(next.pem)).toEqual(replaced);
  expect(refusalWith(namesake.pem)).toEqual(replaced);
  expect(refusalWith(`${next.pem}${root.pem}`)).toBeUndefined();
  expect(refusalAfter(31)).toMatchObject({ code: "DB_PEER_CERT_EXPIRED" });
});

test("after a change a connection is not trusted for an authority that has ended, or that is none", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const renewed = (days: number, ...extensions: x509.Extension[]) =>
    x509.X509CertificateGenerator.create({
      ...{ subject: "CN=root", issuer: "CN=root", extensions },
      ...{ notBefore: new Date(Date.now() - 9 * DAY_MS), notAfter: new Date(Date.now() + days * DAY_MS) },
      ...{ publicKey: root.keys.publicKey, signingKey: root.keys.privateKey },
      signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    });
  const { refusalWith } = await judged(root.pem, await make("agent", root, 30, FOR_CLIENTS));
  expect(refusalWith(`${(await renewed(-1, IS_CA)).toString("pem")}\n`)?.code).toBe("DB_PEER_CERT_EXPIRED");
  expect(refusalWith(`${(await renewed(9)).toString("pem")}\n`)?.code).toBe("DB_PEER_CERT_UNTRUSTED");
});

test("a stranger's long chain costs no more than its first certificate", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const other = await make("other", undefined, 90, IS_CA);
  const whole = vi.spyOn(TLSSocket.prototype, "getPeerX509Certificate");
  const details = vi.spyOn(TLSSocket.prototype, "getPeerCertificate");
  const { verdict } = await judged(root.pem, await make("agent", other, 30), ...Array(60).fill(other));
  expect(verdict).toMatchObject({
    code: "DB_PEER_CERT_UNTRUSTED",
    reason: 'its certificate was issued by "CN=other", and this listener trusts "CN=root"',
    certificate: { subject: "CN=agent" },
  });
  expect(whole).not.toHaveBeenCalled();
  expect(details.mock.calls).toEqual([[]]);
});

test("an intermediate authority that is not for clients is named, not the certificate", async () => {
  const root = await make("root", undefined, 90, IS_CA);
  const forServers = new x509.ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1"]);
  const middle = await make("middle", root, 30, IS_CA, forServers);
  const { verdict } = await judged(root.pem, await make("agent", middle, 30, FOR_CLIENTS), middle);
  expect(verdict).toMatchObject({
    code: "DB_PEER_CERT_CHAIN",
    reason: 'the certificate of its issuer "CN=middle" is not for TLS clients (clientAuth)',
  });
});
