/** Reads certificates from a file or a directory and says what they are, what is wrong with them and what to do. */

import type { KeyObject, X509Certificate } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { basename, dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { unreadBecause } from "../../../base/errors/unread.js";
import { type Finding, failed, warning } from "../../../base/finding.js";
import { filesOf, type PkiManifest, readPkiManifest } from "../manifest.js";
import { whatItIs } from "../not-pem.js";
import { certificatesIn, chainOf, holdsEncryptedKey, pemBlocks, privateKeyIn } from "../pem.js";
import { type CertificateFacts, factsOf } from "./facts.js";
import { certificateFinding, findingsOf, type InspectionSubject, isServers, type Surroundings } from "./rules.js";

export interface InspectOptions {
  /** Where agents dial the server: its certificate must have it. */
  readonly address?: string;
  /** Further files with authorities. */
  readonly caFiles?: readonly string[];
  readonly now?: Date;
}

export async function inspectPath(path: string, options: InspectOptions = {}): Promise<InspectionReport> {
  const { address, caFiles = [], now = new Date() } = options;
  const { asked, beside } = filesAt(path);
  const manifest = await readPkiManifest(path);
  const all = [...asked, ...beside, ...caFiles.flatMap((file) => filesAt(file).asked)];
  const subjects = asked.flatMap((file) => subjectsOf(file, all, manifest, now));
  const surroundings: Surroundings = {
    now,
    address,
    ...remediesFor(path, manifest, address),
    signerKeysKept: manifest?.signerKeysKept ?? false,
  };
  const findings = [
    ...(manifest === undefined ? [] : filesOf(manifest))
      .map((name) => join(path, name))
      .filter((file) => !existsSync(file))
      .map((file) => wrong("incomplete", "it belongs to the set but is gone", surroundings, file)),
    ...asked.flatMap((file) =>
      file.trouble === undefined ? [] : [wrong("unreadable", file.trouble, surroundings, file.path)],
    ),
    ...subjects.flatMap((subject) => findingsOf(subject, surroundings)),
  ];
  if (address !== undefined && !subjects.some(({ facts }) => isServers(facts))) {
    const message = `no server's certificate is here, so nothing can be said about ${address}`;
    const remedy = "Name the server's certificate or its directory.";
    findings.push(certificateFinding("address", warning(message, remedy), path));
  }
  return {
    path,
    set: manifest && {
      profile: manifest.profile,
      madeAt: manifest.madeAt,
      signerKeysKept: manifest.signerKeysKept,
    },
    certificates: subjects.map(({ facts }) => facts),
    // A key that two certificates share is reported once.
    findings: [...new Map(findings.map((finding) => [JSON.stringify(finding), finding])).values()],
  };
}

function wrong(check: string, message: string, { makeAgain }: Surroundings, file: string): Finding {
  return certificateFinding(check, failed(message, makeAgain), file);
}

/** `all` are the files among which authorities and keys are looked for. */
function subjectsOf(
  file: InspectedFile,
  all: readonly InspectedFile[],
  manifest: PkiManifest | undefined,
  now: Date,
): InspectionSubject[] {
  const authorities = all.flatMap(({ certificates }) => certificates).filter(({ ca }) => ca);
  const leaf = manifest?.leaves.find(({ name }) => name === file.stem);
  const signer = manifest?.signers.find(({ name }) => name === file.stem);
  return file.certificates.map((certificate, index) => {
    const facts = factsOf(certificate);
    const chain = chainOf(certificate, authorities);
    // Only the first certificate of a file is the holder's own; those behind it lead to the authority.
    const keyFile = index === 0 ? keyFileOf(file, certificate, all) : undefined;
    return {
      facts: {
        ...facts,
        endsInMs: facts.notAfter.getTime() - now.getTime(),
        file: file.path,
        mode: octal(file.mode),
        use: index > 0 ? undefined : (leaf?.use ?? (signer && "signer") ?? useByName(file.stem)),
        chain: chain.state === "verified" ? chain.chain.map((each) => factsOf(each).subject) : undefined,
        keyFile: keyFile?.path,
        keyMode: keyFile && octal(keyFile.mode),
        keyMatches: keyFile && certificate.checkPrivateKey(keyFile.key!),
      },
      certificate,
      chain,
      keyFile,
      validForMs: (leaf ?? signer)?.validForMs,
    };
  });
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

/** The key of the same stem, right or wrong; else any that matches. */
function keyFileOf({ stem }: InspectedFile, certificate: X509Certificate, all: readonly InspectedFile[]) {
  const keys = all.filter(({ key }) => key !== undefined);
  return keys.find((file) => file.stem === stem) ?? keys.find(({ key }) => certificate.checkPrivateKey(key!));
}

/** File names that OpenShift's scripts, HyperShift's Secrets and we use. */
function useByName(stem: string): InspectedCertificate["use"] {
  if (/^ca$|signer$|ca-bundle$/.test(stem)) return "signer";
  if (/^agent(-|$)|^konnectivity-(agent|client)$|^client$/.test(stem)) return "client";
  return /^server$|^konnectivity-(server|cluster)$/.test(stem) ? "server" : undefined;
}

function remediesFor(path: string, manifest: PkiManifest | undefined, address = "") {
  if (manifest === undefined) {
    const makeAgain = "Issue it again and install certificate and key together.";
    return { makeAgain, makeForAddress: `Issue it again with ${address} among its names` };
  }
  const command = manifest.signerKeysKept ? "renew --all" : "init --replace";
  const flag = isIP(address) === 0 ? "--dns" : "--ip";
  return {
    makeAgain: `Run drawbridge pki ${command} --dir ${path} and hand out the new files.`,
    // Renewing keeps the addresses, so a new set is needed.
    makeForAddress: `Run drawbridge pki init --replace --dir ${path} ${flag} ${address}, with its other addresses if it needs them`,
  };
}

export interface InspectedCertificate extends CertificateFacts {
  /** Negative once it has expired. */
  readonly endsInMs: number;
  readonly file: string;
  readonly mode: string;
  /** What it is meant for, as far as the manifest or the file's name tells. */
  readonly use: "signer" | "server" | "client" | "both" | undefined;
  /** Subjects from here to the authority that ends the chain; undefined when an authority is missing or refuses. */
  readonly chain: readonly string[] | undefined;
  readonly keyFile: string | undefined;
  readonly keyMode: string | undefined;
  readonly keyMatches: boolean | undefined;
}

export interface InspectionReport {
  readonly path: string;
  /** When the path is a directory that drawbridge or certs.sh filled. */
  readonly set: { readonly profile: string; readonly madeAt: string; readonly signerKeysKept: boolean } | undefined;
  readonly certificates: readonly InspectedCertificate[];
  readonly findings: readonly Finding[];
}

export interface InspectedFile {
  readonly path: string;
  /** Without directory and ending: what pairs `server.crt` with `server.key`. */
  readonly stem: string;
  /** Permission bits. */
  readonly mode: number;
  readonly certificates: readonly X509Certificate[];
  readonly key: KeyObject | undefined;
  /** Why nothing could be read from it although its name is that of a PEM file. */
  readonly trouble: string | undefined;
}

/** Larger files are not read. */
const LARGEST = 1024 * 1024;

/** The files that were asked for: one, with those of the same stem and `ca.crt` beside it, or all of a directory. */
function filesAt(path: string): { asked: InspectedFile[]; beside: InspectedFile[] } {
  const status = statusOf(path);
  if (status.isDirectory()) {
    const asked = readdirSync(path)
      .filter((name) => !name.startsWith("."))
      .sort()
      .flatMap((name) => readIfPem(join(path, name)));
    return { asked, beside: [] };
  }
  const file = readIfPem(path)[0];
  if (file === undefined) {
    const what = `${path} cannot be inspected: it is not PEM ${whatItIs(readFileSync(path))}.`;
    throw new DrawbridgeError("DB_CERT_NOT_PEM", what);
  }
  const dir = dirname(path);
  const beside = readdirSync(dir)
    .filter((name) => name !== basename(path) && (stemOf(name) === file.stem || name === "ca.crt"))
    .flatMap((name) => readIfPem(join(dir, name)));
  return { asked: [file], beside };
}

function statusOf(path: string) {
  try {
    return statSync(path);
  } catch (reason) {
    const code = (reason as NodeJS.ErrnoException).code === "ENOENT" ? "DB_CERT_MISSING" : "DB_CERT_FILE";
    throw new DrawbridgeError(code, `${path} cannot be inspected: ${unreadBecause(reason)}.`);
  }
}

function stemOf(name: string): string {
  return basename(name).replace(/\.(crt|cer|pem|key)$/, "");
}

function readIfPem(path: string): InspectedFile[] {
  const stem = stemOf(path);
  const unread = { path, stem, mode: 0, certificates: [], key: undefined };
  // Of files whose name is no PEM file's nothing is expected.
  const troubled = (trouble: string, mode = 0) => (stem === basename(path) ? [] : [{ ...unread, mode, trouble }]);
  let bytes: Buffer;
  let mode: number;
  try {
    const status = statSync(path);
    if (!status.isFile() || status.size > LARGEST) return [];
    mode = status.mode & 0o777;
    bytes = readFileSync(path);
  } catch (reason) {
    return troubled(`it cannot be read (${messageOf(reason)})`);
  }
  const text = new TextDecoder().decode(bytes);
  if (!text.includes("-----BEGIN ")) return troubled(`it is not PEM ${whatItIs(bytes)}`, mode);
  if (holdsEncryptedKey(text)) {
    return [{ ...unread, mode, trouble: "its key is encrypted; store it without a passphrase" }];
  }
  try {
    const certificates = certificatesIn(text).map(({ certificate }) => certificate);
    if (pemBlocks(text).length < text.split(/^-----BEGIN /m).length - 1) throw new Error("a block is torn");
    return [{ path, stem, mode, certificates, key: privateKeyIn(text)?.key, trouble: undefined }];
  } catch {
    return [{ ...unread, mode, trouble: "a block in it cannot be parsed" }];
  }
}
