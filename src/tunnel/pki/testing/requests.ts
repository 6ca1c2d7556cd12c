/** Certificate signing requests as kubelets make them, and as they never would. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import * as x509 from "@peculiar/x509";

export interface MadeRequest {
  /** `{ O: ["system:nodes"] }`, in order. */
  readonly subject: x509.JsonName;
  readonly names?: x509.JsonGeneralNames;
  readonly key?: "P-256" | "RSA-2048" | "RSA-1024";
  /** Asks to become an authority. */
  readonly asksForCa?: boolean;
}

const keys = new Map<string, Promise<webcrypto.CryptoKeyPair>>();

/** PEM. Keys are made once: tests need many requests, and none depends on the key. */
export async function makeRequest({ subject, names, key = "P-256", asksForCa }: MadeRequest): Promise<string> {
  const algorithm =
    key === "P-256"
      ? { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
      : {
          name: "RSASSA-PKCS1-v1_5",
          hash: "SHA-256",
          publicExponent: new Uint8Array([1, 0, 1]),
          modulusLength: Number(key.slice(4)),
        };
  const pair =
    keys.get(key) ??
    (webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]) as Promise<webcrypto.CryptoKeyPair>);
  keys.set(key, pair);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys: await pair,
    signingAlgorithm: algorithm,
    extensions: [
      ...(names === undefined ? [] : [new x509.SubjectAlternativeNameExtension(names)]),
      ...(asksForCa ? [new x509.BasicConstraintsExtension(true, 0, true)] : []),
    ],
  });
  return `${request.toString("pem")}\n`;
}
