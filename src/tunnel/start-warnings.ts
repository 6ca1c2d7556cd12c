/**
 * What a process says of files and flags that will let it down: one line each, with code and remedy. At its start, and of
 * files also when they are replaced by such ones and when a certificate's time comes.
 */
import type { X509Certificate } from "node:crypto";
import { readFileSync, realpathSync, statSync } from "node:fs";
import { processDescriptors } from "../base/connections.js";
import { type ErrorCode, remedies } from "../base/errors/catalogue.js";
import { unreadBecause } from "../base/errors/unread.js";
import { claimsOf } from "../base/json-web-token.js";
import type { Logger } from "../base/log/log.js";
import { CHECK_INTERVAL_MS, fingerprint, unrefInterval } from "./pki/followed-files.js";
import { weaknessOf } from "./pki/issuer-problem.js";
import { dueAt, lifeProblem } from "./pki/manifest.js";
import { certificatesIn } from "./pki/pem.js";
import { quotedName } from "./pki/shown.js";
import { parseHost } from "./wire/destination.js";
import { identifierPairs, isGoBoolean } from "./wire/identifiers.js";
import { parseAddress, parsePrefix } from "./wire/prefix.js";

export interface StartFacts {
  /** Empty names are left out. */
  readonly certFiles: readonly string[];
  /** Whether somebody else says when they end. */
  readonly areDatesSaid?: boolean;
  /** Those of them that are to hold authorities. */
  readonly caFiles?: readonly string[];
  readonly keyFiles: readonly string[];
  readonly adminTokenFile: string;
  /** Of a server. */
  readonly serverCount?: number;
  /** Of an agent. */
  readonly identifiers?: string;
  /** The service account token of an agent; empty: none. */
  readonly agentTokenFile?: string;
  /** Most files that the process may open; each connection is one. */
  readonly openFiles?: number;
}

export interface StartWarning {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
  /** Stays the same while the same is true; undefined: the message does. */
  readonly key?: string;
}

/** What a shell gives where nobody has set a limit; Node raises it to the hard one, which is far higher. */
const FEW_FILES = 1024;

/** 96 bits in base64, or 64 in hexadecimal. */
const SHORTEST_TOKEN = 16;

export function startWarnings(facts: StartFacts, now = new Date()): StartWarning[] {
  const {
    certFiles,
    areDatesSaid = false,
    caFiles = [],
    keyFiles,
    adminTokenFile,
    serverCount,
    identifiers = "",
    agentTokenFile = "",
    openFiles = processDescriptors.limit,
  } = facts;
  const named = (files: readonly string[]): string[] => [...new Set(files)].filter((file) => file !== "");
  return [
    ...certificateWarnings(named(certFiles), areDatesSaid ? undefined : now),
    ...named(caFiles).flatMap(authorityWarnings),
    ...named(keyFiles).flatMap((file) => exposed(file, "DB_CERT_FILE", "private key")),
    ...named([adminTokenFile]).flatMap(tokenWarnings),
    ...named([agentTokenFile]).flatMap((file) => agentTokenWarnings(file, now)),
    ...identifierWarnings(identifiers),
    ...(openFiles < FEW_FILES
      ? [
          {
            code: "DB_OPEN_FILES",
            message: `this process may open only ${openFiles} files, and every connection is one`,
            remedy: remedies.DB_OPEN_FILES,
          } as const,
        ]
      : []),
    ...(serverCount === 0
      ? [
          {
            code: "DB_FLAG_VALUE",
            message: "--server-count is 0: agents that follow it look for no server beyond their first",
            remedy: "Give the number of servers that run, or use --enable-lease-controller.",
          } as const,
        ]
      : []),
  ];
}

/** The returned function ends it. Tests give their own clock and ticks. */
export function warnFromNowOn(
  logger: Pick<Logger, "warn">,
  facts: StartFacts,
  now: () => Date = () => new Date(),
  every = unrefInterval,
): () => void {
  const { certFiles, caFiles = [], keyFiles, adminTokenFile, agentTokenFile = "" } = facts;
  const files = [...certFiles, ...caFiles, ...keyFiles, adminTokenFile, agentTokenFile].filter((file) => file !== "");
  let said: ReadonlySet<string> = new Set();
  let seen: string | undefined;
  let lookedAt = 0;
  let nextAt = 0;
  const look = (): void => {
    const [found, at] = [fingerprint(files), now()];
    // A host's clock may also be set back.
    if (found === seen && at.getTime() >= lookedAt && at.getTime() < nextAt) return;
    [seen, lookedAt, nextAt] = [found, at.getTime(), nextDate(facts, at)];
    const warnings = startWarnings(facts, at).map((each) => ({ key: each.message, ...each }));
    for (const { key, message, code, remedy } of warnings) {
      if (!said.has(key)) logger.warn(message, { code, remedy });
    }
    said = new Set(warnings.map(({ key }) => key));
  };
  look();
  return every(CHECK_INTERVAL_MS, look);
}

/** When something is to be said next of what is in the files now, in milliseconds since 1970. */
function nextDate({ certFiles, agentTokenFile = "" }: StartFacts, now: Date): number {
  const certificates = certFiles.flatMap((file) => certificatesIn(readOrNothing(file) ?? ""));
  const dates = certificates.flatMap(({ certificate: { validFrom: notBefore, validTo: notAfter } }) => [
    ...[notBefore, notAfter].map((date) => new Date(date).getTime()),
    dueAt({ notBefore, notAfter }),
  ]);
  const end = Number(claimsOf(readOrNothing(agentTokenFile)?.trim() ?? "")?.exp ?? 0) * 1000;
  return Math.min(...[...dates, end].filter((date) => date > now.getTime()));
}

const ISSUE_STRONGER =
  "Have it issued again with an ECDSA key, or RSA with 2048 bits or more, signed with SHA-256; drawbridge pki init and pki issue make such ones.";

/** One for each certificate, however many files hold it. */
function certificateWarnings(files: readonly string[], now: Date | undefined): StartWarning[] {
  const damaged: StartWarning[] = [];
  const all = new Map<string, { readonly certificate: X509Certificate; readonly files: Set<string> }>();
  for (const file of files) {
    const text = readOrNothing(file) ?? "";
    const found = certificatesIn(text);
    const count = text.split(/^-----BEGIN CERTIFICATE-----/m).length - 1;
    if (count > found.length) {
      const message = `${count - found.length} of the ${count} certificates in ${file} cannot be read and are left out`;
      const remedy = "Put them into the file again, each between its BEGIN and its END line.";
      damaged.push({ code: "DB_CERT_FILE", message, remedy });
    }
    for (const { certificate } of found) {
      const { fingerprint256 } = certificate;
      all.set(fingerprint256, { certificate, files: (all.get(fingerprint256)?.files ?? new Set()).add(file) });
    }
  }
  const about = [...all.values()].map(({ certificate, files: holders }) => ({
    certificate,
    what: `the certificate ${quotedName(certificate.subject)} in ${[...holders].join(" and ")}`,
  }));
  const ending = about.flatMap(({ certificate: { fingerprint256, validFrom, validTo }, what }): StartWarning[] => {
    const problem = now && lifeProblem({ notBefore: validFrom, notAfter: validTo }, now);
    if (problem === undefined) return [];
    const remedy =
      problem.id === "not-yet-valid"
        ? "Compare this host's clock with that of the host that issued it."
        : "Renew it, for example with drawbridge pki renew --dir DIR where its signer's key is; the file is read again by itself.";
    const key = `${fingerprint256} ${problem.id}`;
    return [{ code: "DB_CERT_FILE", message: `${what} ${problem.words}`, remedy, key }];
  });
  const weak = about.flatMap(({ certificate, what }): StartWarning[] => {
    const why = weaknessOf(certificate);
    return why === undefined
      ? []
      : [{ code: "DB_CERT_FILE", message: `${what} is weak: ${why}`, remedy: ISSUE_STRONGER }];
  });
  return [...damaged, ...ending, ...weak];
}

/** Nothing that was issued by it is accepted, and it is not accepted itself, unless it is its own issuer. */
function authorityWarnings(file: string): StartWarning[] {
  const all = certificatesIn(readOrNothing(file) ?? "").map(({ certificate }) => certificate);
  if (all.length === 0 || all.some((each) => each.ca || each.checkIssued(each))) return [];
  const { subject, issuer } = all[0]!;
  const message = `${file} is to hold certificate authorities and holds none: ${quotedName(subject)} is the certificate of a server or client`;
  return [{ code: "DB_CERT_FILE", message, remedy: `Give the file of its issuer, ${quotedName(issuer)}.` }];
}

function tokenWarnings(file: string): StartWarning[] {
  const code = "DB_ADMIN_TOKEN_FILE";
  const remedy = "Make it a file of one line, a long random token, for example of openssl rand -hex 32.";
  let token: string;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch (reason) {
    const message = `the admin token file ${file} cannot be read, so the admin API refuses everybody: ${unreadBecause(reason)}`;
    return [{ code, message, remedy }];
  }
  if (token === "") {
    return [{ code, message: `the admin token file ${file} is empty, so the admin API refuses everybody`, remedy }];
  }
  if (/[^\x21-\x7e]/.test(token)) {
    const message = `the admin token in ${file} is not one line of printable ASCII without blanks, so no request can carry it`;
    return [{ code, message, remedy }];
  }
  const weak = `the admin token in ${file} has only ${token.length} characters and can be guessed`;
  return [
    ...(token.length < SHORTEST_TOKEN ? [{ code, message: weak, remedy } as const] : []),
    ...exposed(file, code, "admin token"),
  ];
}

function agentTokenWarnings(file: string, now: Date): StartWarning[] {
  const code = "DB_TOKEN_FILE";
  const remedy = "Mount a projected service account token there, and name it with --service-account-token-path.";
  const token = readOrNothing(file)?.trim();
  const say = (what: string): StartWarning[] => [
    { code, message: `the service account token in ${file} ${what}`, remedy },
  ];
  if (token === undefined) return say("cannot be read, so this agent connects to no server");
  if (token === "") return say("is empty, so this agent connects to no server");
  const claims = claimsOf(token);
  if (claims === undefined) return say("is not a JSON Web Token, which is all that proxy-servers accept");
  const end = typeof claims.exp === "number" ? new Date(claims.exp * 1000) : undefined;
  if (end !== undefined && Number.isNaN(end.getTime())) return say(`has an end (exp) that is no date: ${claims.exp}`);
  return [
    ...(end !== undefined && end <= now ? say(`ended on ${end.toISOString()}`) : []),
    ...exposed(file, code, "service account token"),
  ];
}

/** Identifiers that no destination matches. A query that cannot be parsed is refused before. */
function identifierWarnings(query: string): StartWarning[] {
  return identifierPairs(query).flatMap(([key, value]) => {
    const why = identifierProblem(key, value);
    if (why === undefined) return [];
    const message = `--agent-identifiers has ${key}=${JSON.stringify(value)}, which is ${why}`;
    const isNetwork = key !== "cidr" && parsePrefix(value) !== undefined;
    const remedy = isNetwork
      ? `Write cidr=${value} in --agent-identifiers; servers need destCIDR in --proxy-strategies for it.`
      : "Correct --agent-identifiers, for example ipv4=10.0.0.1&host=db.example&cidr=10.0.0.0/8&default-route=true.";
    return [{ code: "DB_FLAG_VALUE", message, remedy }];
  });
}

/** Servers look for either family's addresses under both keys. */
function identifierProblem(key: string, value: string): string | undefined {
  const family = key === "ipv4" ? "IPv4" : "IPv6";
  const isPrefix = value.includes("/") && parsePrefix(value) !== undefined;
  if (key === "cidr") return isPrefix ? undefined : "not a network such as 10.0.0.0/8, so it covers no address";
  if (key === "host" && value.trim() === "") return "empty, so no name leads to this agent";
  if (key === "host")
    return parseHost(value) === undefined
      ? "not the name of a host such as db.example, so no name leads to this agent"
      : undefined;
  if (key === "default-route")
    return isGoBoolean(value) ? undefined : "neither true nor false, so this agent is no default route";
  return parseAddress(value) === undefined
    ? `not an ${family} address, so no address leads to this agent by it`
    : undefined;
}

function exposed(file: string, code: ErrorCode, what: string): StartWarning[] {
  const mode = modeOf(file);
  if (mode === undefined || (mode & 0o004) === 0) return [];
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  const message = `the ${what} in ${file} can be read by every user of this host (mode ${shown})`;
  return [{ code, message, remedy: `Run chmod o-r ${file}.` }];
}

/** Undefined for mounted Secrets too: Kubernetes makes them 0644, inside a volume that only the pod has. */
function modeOf(file: string): number | undefined {
  try {
    return /\/\.\.[^/]+\/[^/]+$/.test(realpathSync(file)) ? undefined : statSync(file).mode;
  } catch {
    return undefined;
  }
}

/** What cannot be read is reported by whoever needs it. */
function readOrNothing(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
