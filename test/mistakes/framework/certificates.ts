/** Certificates with every mistake one can make, made without the code under test. */
import "reflect-metadata";
import { KeyObject, randomBytes, webcrypto } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

export interface Files {
  readonly cert: string;
  readonly key: string;
}

interface Signer extends Files {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
  readonly name: string;
}

export interface Wish {
  readonly use?: "client" | "server" | "none";
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
  readonly organization?: string;
  /** Minutes from now; both may be negative. */
  readonly fromMin?: number;
  readonly untilMin?: number;
  /** Certificates put behind it in the file. */
  readonly chain?: readonly Files[];
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MIN = 24 * 60;
const USE = { client: "1.3.6.1.5.5.7.3.2", server: "1.3.6.1.5.5.7.3.1", none: "1.3.6.1.5.5.7.3.4" } as const;

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);

const life = ({ fromMin = -60, untilMin = 30 * DAY_MIN }: Wish) => ({
  notBefore: new Date(Date.now() + fromMin * 60_000),
  notAfter: new Date(Date.now() + untilMin * 60_000),
});

/** Positive, as X.509 asks. */
const serialNumber = () => `4${randomBytes(8).toString("hex").slice(1)}`;

export class Certificates {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async authority(name: string, signer?: Signer): Promise<Signer> {
    const keys = await newKeys();
    const extensions = [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ];
    const certificate = await this.#sign(name, keys, { fromMin: -2 * DAY_MIN }, extensions, signer);
    return { ...this.#write(name, certificate, keys, []), certificate, keys, name: certificate.subject };
  }

  async issue(signer: Signer, name: string, wish: Wish = {}): Promise<Files> {
    const { use = "client", dns = [], ips = [], chain = [] } = wish;
    const keys = await newKeys();
    const names = [
      ...dns.map((value) => ({ type: "dns", value }) as const),
      ...ips.map((value) => ({ type: "ip", value }) as const),
    ];
    const extensions = [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([USE[use]]),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ];
    return this.#write(name, await this.#sign(name, keys, wish, extensions, signer), keys, chain);
  }

  #sign(name: string, keys: webcrypto.CryptoKeyPair, wish: Wish, extensions: x509.Extension[], signer?: Signer) {
    const organization = wish.organization === undefined ? "" : `O=${wish.organization},`;
    const subject = `${organization}CN=${name}`;
    return x509.X509CertificateGenerator.create({
      ...{ serialNumber: serialNumber(), subject, issuer: signer?.name ?? subject, ...life(wish) },
      ...{ publicKey: keys.publicKey, signingKey: signer?.keys.privateKey ?? keys.privateKey, extensions },
      signingAlgorithm: ALGORITHM,
    });
  }

  #write(name: string, certificate: x509.X509Certificate, keys: webcrypto.CryptoKeyPair, chain: readonly Files[]) {
    const files = { cert: join(this.#folder, `${name}.crt`), key: join(this.#folder, `${name}.key`) };
    const behind = chain.map((each) => (each as Signer).certificate.toString("pem"));
    writeFileSync(files.cert, `${[certificate.toString("pem"), ...behind].join("\n")}\n`);
    const key = KeyObject.from(keys.privateKey).export({ type: "pkcs8", format: "pem" });
    writeFileSync(files.key, key, { mode: 0o600 });
    return files;
  }
}
