import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mustSync } from "./run.js";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

export interface Subject {
  /** File name without ending. */
  readonly file: string;
  readonly name: string;
  /** Kubernetes reads groups from here. */
  readonly organization?: string;
  readonly use: "server" | "client" | "both";
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const EXTENDED_USE = { server: "serverAuth", client: "clientAuth", both: "serverAuth,clientAuth" } as const;

/** A certificate authority for one lab, made with openssl so that nothing under test vouches for itself. */
export class Authority implements Pair {
  readonly cert: string;
  readonly key: string;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;

  /** `env`: of openssl, which may have a clock of its own. */
  constructor(folder: string, name: string, env: Readonly<Record<string, string>> = {}) {
    this.#folder = folder;
    this.#env = env;
    this.cert = join(folder, `${name}.crt`);
    this.key = join(folder, `${name}.key`);
    const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
    this.#openssl([
      ...["req", "-x509", "-days", "2", ...NEW_KEY, "-subj", `/CN=${name}`],
      ...extensions.flatMap((extension) => ["-addext", extension]),
      ...["-keyout", this.key, "-out", this.cert],
    ]);
    chmodSync(this.key, 0o600);
  }

  issue(subject: Subject): Pair {
    const path = (ending: string) => join(this.#folder, `${subject.file}.${ending}`);
    const pair = { cert: path("crt"), key: path("key") };
    const organization = subject.organization === undefined ? "" : `/O=${subject.organization}`;
    this.#openssl([
      ...["req", "-new", ...NEW_KEY, "-subj", `${organization}/CN=${subject.name}`],
      ...["-keyout", pair.key, "-out", path("csr")],
    ]);
    chmodSync(pair.key, 0o600);
    writeFileSync(path("ext"), extensionsOf(subject));
    this.#openssl([
      ...["x509", "-req", "-days", "1", "-in", path("csr"), "-extfile", path("ext"), "-out", pair.cert],
      ...["-CA", this.cert, "-CAkey", this.key, "-CAcreateserial"],
    ]);
    return pair;
  }

  #openssl(args: readonly string[]): void {
    mustSync(["openssl", ...args], this.#env);
  }
}

/** A key that signs service-account tokens, with its public half. */
export function signingKey(folder: string): { readonly privateKey: string; readonly publicKey: string } {
  const pair = { privateKey: join(folder, "service-account.key"), publicKey: join(folder, "service-account.pub") };
  mustSync(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", pair.privateKey]);
  chmodSync(pair.privateKey, 0o600);
  mustSync(["openssl", "pkey", "-in", pair.privateKey, "-pubout", "-out", pair.publicKey]);
  return pair;
}

function extensionsOf(subject: Subject): string {
  const names = [...(subject.dns ?? []).map((name) => `DNS:${name}`), ...(subject.ips ?? []).map((ip) => `IP:${ip}`)];
  return [
    "basicConstraints=CA:FALSE",
    "keyUsage=critical,digitalSignature",
    `extendedKeyUsage=${EXTENDED_USE[subject.use]}`,
    ...(names.length > 0 ? [`subjectAltName=${names.join(",")}`] : []),
    "",
  ].join("\n");
}
