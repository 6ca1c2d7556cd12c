/** Reads certificates from a file or a directory and says what they are, what is wrong with them and what to do. */
import { existsSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { filesOf, type PkiManifest, readManifest } from "../manifest.js";
import { type ChainResult, chainOf } from "./chain.js";
import { factsOf } from "./facts.js";
import { belongTogether, filesAt, type InspectedFile } from "./files.js";
import type { CertificateFinding, InspectedCertificate, InspectionReport } from "./report.js";
import { isServers, octal, rules, type Subject, type Surroundings } from "./rules.js";

export interface InspectOptions {
  /** Where agents dial the server: its certificate must have it. */
  readonly address?: string;
  /** Further files with authorities. */
  readonly caFiles?: readonly string[];
  readonly now?: Date;
}

export async function inspectPath(path: string, options: InspectOptions = {}): Promise<InspectionReport> {
  const { asked, beside } = filesAt(path);
  const manifest = await readManifest(path);
  const more = (options.caFiles ?? []).flatMap((file) => filesAt(file).asked);
  const around: Around = { all: [...asked, ...beside, ...more], manifest };
  const subjects = asked.flatMap((file) => subjectsOf(file, around));
  const surroundings: Surroundings = {
    now: options.now ?? new Date(),
    address: options.address,
    makeAnew: wayToMakeAnew(path, manifest),
    makeForAddress: wayToAnAddress(path, manifest, options.address),
  };
  const findings = [
    ...(manifest === undefined ? [] : missingFiles(path, manifest, surroundings)),
    ...asked.flatMap((file) => unreadable(file, surroundings)),
    ...subjects.flatMap((subject) => rules.flatMap((rule) => rule(subject, surroundings))),
    ...nobodyServes(path, subjects, options.address),
  ];
  return {
    path,
    set: manifest && {
      profile: manifest.profile,
      madeAt: manifest.madeAt,
      signerKeysKept: manifest.signerKeysKept,
    },
    certificates: subjects.map((subject) => described(subject, surroundings.now)),
    findings: unique(findings),
  };
}

interface Around {
  readonly all: readonly InspectedFile[];
  readonly manifest: PkiManifest | undefined;
}

function subjectsOf(file: InspectedFile, { all, manifest }: Around): Subject[] {
  const authorities = all.flatMap(({ certificates }) => certificates).filter(({ ca }) => ca);
  return file.certificates.map((certificate, index) => {
    const facts = factsOf(certificate);
    const leaf = manifest?.leaves.find(({ name }) => name === file.stem);
    const signer = manifest?.signers.find(({ name }) => name === file.stem);
    // Only the first certificate of a file is the holder's own; those behind it lead to the authority.
    const keyFile = index === 0 ? keyFileOf(file, all, (key) => belongTogether(certificate, key)) : undefined;
    return {
      file,
      certificate,
      facts,
      use: index > 0 ? undefined : (leaf?.use ?? (signer && "signer") ?? useByName(file.stem)),
      chain: chainOf(certificate, authorities),
      keyFile,
      keyMatches: keyFile && belongTogether(certificate, keyFile.key!),
      validForMs: (leaf ?? signer)?.validForMs,
      signerKeyWanted: manifest?.signerKeysKept ?? false,
    };
  });
}

type Matcher = (key: NonNullable<InspectedFile["key"]>) => boolean;

/** The key of the same stem, right or wrong; else any that matches. */
function keyFileOf(file: InspectedFile, all: readonly InspectedFile[], matches: Matcher): InspectedFile | undefined {
  const keys = all.filter(({ key }) => key !== undefined);
  return keys.find(({ stem }) => stem === file.stem) ?? keys.find(({ key }) => matches(key!));
}

/** File names that OpenShift's scripts, HyperShift's Secrets and we use. */
function useByName(stem: string): Subject["use"] {
  if (/^ca$|signer$|ca-bundle$/.test(stem)) return "signer";
  if (/^agent(-|$)|^konnectivity-(agent|client)$|^client$/.test(stem)) return "client";
  return /^server$|^konnectivity-(server|cluster)$/.test(stem) ? "server" : undefined;
}

function wayToMakeAnew(path: string, manifest: PkiManifest | undefined): string {
  if (manifest === undefined) return "Issue it anew and install certificate and key together.";
  const command = manifest.signerKeysKept ? "renew --all" : "init --replace";
  return `Run drawbridge pki ${command} --dir ${path} and hand out the new files.`;
}

/** Renewing keeps the addresses, so it takes a new set. */
function wayToAnAddress(path: string, manifest: PkiManifest | undefined, address = ""): string {
  if (manifest === undefined) return `Issue it anew with ${address} among its names`;
  const flag = isIP(address) === 0 ? "--dns" : "--ip";
  return `Run drawbridge pki init --replace --dir ${path} ${flag} ${address}, with its other addresses if it needs them`;
}

function missingFiles(path: string, manifest: PkiManifest, { makeAnew }: Surroundings): CertificateFinding[] {
  return filesOf(manifest)
    .map((name) => join(path, name))
    .filter((file) => !existsSync(file))
    .map((file) => ({
      severity: "wrong",
      id: "incomplete",
      file,
      message: "it belongs to the set but is gone",
      remedy: makeAnew,
    }));
}

function unreadable({ path, trouble }: InspectedFile, { makeAnew }: Surroundings): CertificateFinding[] {
  return trouble === undefined
    ? []
    : [{ severity: "wrong", id: "unreadable", file: path, message: trouble, remedy: makeAnew }];
}

function nobodyServes(path: string, subjects: readonly Subject[], address: string | undefined): CertificateFinding[] {
  if (address === undefined || subjects.some(isServers)) return [];
  const message = `no server's certificate is here, so nothing can be said about ${address}`;
  const remedy = "Name the server's certificate or its directory.";
  return [{ severity: "warning", id: "address", file: path, message, remedy }];
}

/** A key that two certificates share is reported once. */
function unique(findings: readonly CertificateFinding[]): CertificateFinding[] {
  const seen = new Map(findings.map((finding) => [JSON.stringify(finding), finding]));
  return [...seen.values()];
}

function described({ file, facts, use, chain, keyFile, keyMatches }: Subject, now: Date): InspectedCertificate {
  return {
    ...facts,
    endsInMs: facts.notAfter.getTime() - now.getTime(),
    file: file.path,
    mode: octal(file.mode),
    use,
    chain: chainSubjects(chain),
    keyFile: keyFile?.path,
    keyMode: keyFile && octal(keyFile.mode),
    keyMatches,
  };
}

function chainSubjects(chain: ChainResult): string[] | undefined {
  return chain.state === "verified" ? chain.chain.map((certificate) => factsOf(certificate).subject) : undefined;
}
