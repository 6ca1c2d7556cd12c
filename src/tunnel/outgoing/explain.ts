/**
 * Why a connection to a server failed: whose certificate or which port, resolver or clock it is, in one sentence with the
 * facts, under the code whose remedy fixes it. Nothing here decides whether a peer is trusted; that is done in secure.ts.
 */
import type { X509Certificate } from "node:crypto";
import { getServers } from "node:dns";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf, reasonOf } from "../../base/errors/error.js";
import { plainText } from "../../base/text.js";
import { NOT_HTTP2 } from "../link/open.js";
import { issuerProblem } from "../pki/issuer-problem.js";
import { followChain, isAmong, isFor } from "../pki/pem.js";
import { CLIENT_AUTH, SERVER_AUTH } from "../pki/request.js";
import { isForUse, listed, quotedName } from "../pki/shown.js";
import { LookupError } from "../resolver/resolver.js";
import { certificateProblem, type DialFacts, otherNames, timeProblem } from "./facts.js";

/** The codes of connections that did not come about: nothing was asked of the server. */
export const DIAL_FAILURES = [
  ...(["DB_NAME_UNKNOWN", "DB_NAME_SERVER"] as const),
  ...(["DB_CONNECT_REFUSED", "DB_CONNECT_TIMEOUT", "DB_CONNECT_UNREACHABLE", "DB_HTTPS_PROXY"] as const),
  ...(["DB_OPEN_FILES", "DB_TLS_NOT_SPOKEN", "DB_TLS_FAILED", "DB_TLS_CLOCK"] as const),
  ...(["DB_TLS_UNKNOWN_CA", "DB_TLS_CA_EXPIRED", "DB_TLS_SERVER_NAME", "DB_TLS_SERVER_EXPIRED"] as const),
  ...([
    "DB_TLS_SERVER_USE",
    "DB_TLS_SERVER_CHAIN",
    "DB_TLS_OWN_EXPIRED",
    "DB_TLS_OWN_USE",
    "DB_TLS_OWN_MISSING",
  ] as const),
  ...(["DB_TLS_OWN_REFUSED", "DB_WRONG_PORT", "DB_SERVER_HUNG_UP"] as const),
] satisfies readonly ErrorCode[];

export type DialFailureCode = (typeof DIAL_FAILURES)[number];

/** A connection that did not come about, with the certificates that the server showed. */
export class DialFailure extends DrawbridgeError {
  readonly peer: readonly X509Certificate[];

  constructor(code: DialFailureCode, sentence: string, cause?: unknown, peer: readonly X509Certificate[] = []) {
    super(code, `${sentence}.`, { cause });
    this.peer = peer;
  }
}

type Problem = readonly [code: DialFailureCode, words: string];

// ---- before TLS --------------------------------------------------------------------------------------------------------

const BY_ERRNO: Readonly<Record<string, Problem>> = {
  ECONNREFUSED: [
    "DB_CONNECT_REFUSED",
    "connection refused (ECONNREFUSED): nothing listens there, or a firewall rejects it",
  ],
  EHOSTUNREACH: ["DB_CONNECT_UNREACHABLE", "no route to host (EHOSTUNREACH)"],
  ENETUNREACH: ["DB_CONNECT_UNREACHABLE", "network is unreachable (ENETUNREACH)"],
  EADDRNOTAVAIL: ["DB_CONNECT_UNREACHABLE", "this host has no address to come from (EADDRNOTAVAIL)"],
  EACCES: ["DB_CONNECT_UNREACHABLE", "this host's own firewall forbids it (EACCES)"],
  EPERM: ["DB_CONNECT_UNREACHABLE", "this host's own firewall forbids it (EPERM)"],
  ETIMEDOUT: ["DB_CONNECT_TIMEOUT", "no answer in time (ETIMEDOUT)"],
  EMFILE: ["DB_OPEN_FILES", "this process has too many open files (EMFILE), so it cannot open a socket"],
  ENFILE: ["DB_OPEN_FILES", "this host has too many open files (ENFILE), so no process can open a socket"],
};

type FailedDial = NodeJS.ErrnoException & { readonly hostname?: string; readonly address?: string };

/** Without a zone. */
const LINK_LOCAL = /^fe[89ab][0-9a-f]:[0-9a-f:]*$/i;

const lacksZone = (address: string): string => `a link-local address needs its interface, as in ${address}%eth0`;

/** For a name that was not found and a connection that was not made; the sentence is without its full stop. */
export function explainConnect(where: string, reason: unknown): DialFailure | Error {
  const cannot = `cannot connect to ${where}`;
  if (reason instanceof LookupError) return new DialFailure(lookupCode(reason), `${cannot}: ${reason.words}`, reason);
  // Of several addresses that were tried, the last one's failure is the newest.
  const last = reason instanceof AggregateError ? (reason.errors.at(-1) as unknown) : reason;
  const { code: errno = "", syscall, hostname = "", address = "" } = (last ?? {}) as FailedDial;
  if (syscall === "getaddrinfo") {
    const words = `the name ${plainText(hostname)} cannot be looked up: getaddrinfo, which asks ${getServers().join(", ")}, says ${errno}`;
    return new DialFailure(errno === "ENOTFOUND" ? "DB_NAME_UNKNOWN" : "DB_NAME_SERVER", `${cannot}: ${words}`, reason);
  }
  if (errno === "EINVAL" && LINK_LOCAL.test(address)) {
    return new DialFailure("DB_CONNECT_UNREACHABLE", `${cannot}: ${lacksZone(address)} (EINVAL)`, reason);
  }
  const [code, words] = BY_ERRNO[errno] ?? [];
  if (code !== undefined) return new DialFailure(code, `${cannot}: ${words}`, reason);
  return new Error(`${cannot}: ${messageOf(last)}`, { cause: reason });
}

/** A proxy that the environment names is in the way, whatever it failed with. */
export function explainProxy(where: string, reason: unknown): DialFailure {
  // This is no fault of the proxy.
  if (reason instanceof DialFailure && reason.code === "DB_OPEN_FILES") return reason;
  const cannot = `cannot connect to ${where}`;
  const why = reasonOf(reason);
  return new DialFailure("DB_HTTPS_PROXY", why.startsWith(cannot) ? why : `${cannot}: ${why}`, reason);
}

export function connectTimeout(where: string, afterMs: number): DialFailure {
  const address = /^\[(.*)\]/.exec(where)?.[1] ?? "";
  // Newer versions of Node choose an interface themselves.
  const zone = LINK_LOCAL.test(address) ? `; ${lacksZone(address)}` : "";
  const words = `no answer in time (${afterMs / 1000} s)${zone}`;
  return new DialFailure("DB_CONNECT_TIMEOUT", `cannot connect to ${where}: ${words}`);
}

const lookupCode = ({ code }: LookupError): DialFailureCode =>
  code === "ENOTFOUND" ? "DB_NAME_UNKNOWN" : "DB_NAME_SERVER";

// ---- the handshake -----------------------------------------------------------------------------------------------------

/** The handshake broke: by an alert of the server, by bytes that are not TLS, or by a hang-up. */
export function explainHandshake(reason: unknown, facts: DialFacts): DialFailure {
  const { where } = facts;
  const { reason: openssl = "", code = "" } = (reason ?? {}) as { reason?: string; code?: string };
  const alert = alertIn(reason);
  if (alert !== undefined) return explainAlert(alert, facts, reason);
  if (/wrong version number|packet length too long|record layer failure|unexpected message/.test(openssl)) {
    const words = `${where} does not speak TLS: it answered in plain text`;
    return new DialFailure("DB_TLS_NOT_SPOKEN", words, reason);
  }
  if (code === "ECONNRESET" || code === "EPIPE" || reason === HUNG_UP) {
    const likely = "it does not speak TLS, nothing is behind this load balancer, or it refuses what was offered";
    return new DialFailure("DB_TLS_NOT_SPOKEN", `${where} hung up during the TLS handshake: ${likely}`, reason);
  }
  const words = openssl === "" ? reasonOf(reason) : openssl;
  return new DialFailure("DB_TLS_FAILED", `TLS with ${where} failed: ${plainText(words)}`, reason);
}

const HUNG_UP = "it hung up";

export function handshakeTimeout(where: string): DialFailure {
  const words = `${where} accepted the connection and did not finish the TLS handshake in time`;
  return new DialFailure("DB_TLS_NOT_SPOKEN", words);
}

/** `unknown ca`, `certificate expired`: what the other side objected to, by OpenSSL's name for it. */
export function alertIn(reason: unknown): string | undefined {
  const { reason: openssl = "" } = (reason ?? {}) as { reason?: string };
  return /\balert (.+)$/.exec(openssl)?.[1] ?? (/unrecognized name/.test(openssl) ? "unrecognized name" : undefined);
}

/** Alerts that are about a certificate, or that some servers send instead when they miss one. */
const ABOUT_OUR_CERTIFICATE = /certificate|unknown ca|access denied|decrypt error|handshake failure/;

function explainAlert(alert: string, facts: DialFacts, reason: unknown): DialFailure {
  const { where } = facts;
  if (/no application protocol/.test(alert)) return explainWrongPort(`TLS alert "${alert}": no HTTP/2`, facts, reason);
  if (ABOUT_OUR_CERTIFICATE.test(alert)) return explainRefused(`TLS alert "${alert}"`, facts, reason);
  return new DialFailure("DB_TLS_FAILED", `${where} refused the TLS connection: ${alert}`, reason);
}

// ---- our own certificate -----------------------------------------------------------------------------------------------

/** `this agent's certificate (subject "CN=a", issuer "CN=ca", file agent.crt)`. */
export function ownCertificate({ own: [leaf], self, certFile = "" }: DialFacts): string {
  const file = certFile === "" ? "" : `, file ${certFile}`;
  return `${self}'s certificate (subject ${quotedName(leaf!.subject)}, issuer ${quotedName(leaf!.issuer)}${file})`;
}

/** What is wrong with our certificate by itself, whatever a server says; undefined when nothing is, or there is none. */
export function ownProblem(facts: DialFacts): Problem | undefined {
  const { own, now } = facts;
  const [leaf] = own;
  if (leaf === undefined) return undefined;
  const time = timeProblem(leaf, now);
  const name = ownCertificate(facts);
  if (time?.id === "expired") return ["DB_TLS_OWN_EXPIRED", `${name} ${time.words}`];
  if (time !== undefined) return ["DB_TLS_CLOCK", `${name} ${tooEarly(time.words, now)}`];
  if (isForUse(leaf, CLIENT_AUTH)) return undefined;
  return ["DB_TLS_OWN_USE", `${name} is not for TLS clients: its extended key usage has no clientAuth`];
}

const clock = (now: Date): string => `this host's clock says ${now.toISOString()}`;

/** A certificate does not tell which of the three it is. */
const tooEarly = (words: string, now: Date): string =>
  `${words}; ${clock(now)}, so this clock is behind, the issuer's was ahead, or it was made for later`;

/** The server turned our certificate down; `how` is what it said or did. */
export function explainRefused(how: string, facts: DialFacts, reason?: unknown): DialFailure {
  const [code, words] = refusal(how, facts);
  return new DialFailure(code, words, reason, facts.peer);
}

function refusal(how: string, facts: DialFacts): Problem {
  const { where, self, own, admittedBy, now } = facts;
  const refused = `the server at ${where} refused ${self} (${how})`;
  if (own.length === 0) {
    return ["DB_TLS_OWN_MISSING", `${refused}: it wants a client certificate, and ${self} was given none`];
  }
  const problem = ownProblem(facts);
  if (problem !== undefined) return [problem[0], `${refused}: ${problem[1]}`];
  const name = ownCertificate(facts);
  if (/expired/.test(how)) {
    const until = `is valid until ${new Date(own[0]!.validTo).toISOString()}, and ${clock(now)}`;
    return [
      "DB_TLS_CLOCK",
      `${refused}: ${name} ${until}, so the server's clock is ahead, this one is behind, or an authority in the server's ${admittedBy} has expired`,
    ];
  }
  if (/not valid yet|not yet valid/.test(how)) {
    const since = `is valid since ${new Date(own[0]!.validFrom).toISOString()}, and ${clock(now)}`;
    return [
      "DB_TLS_CLOCK",
      `${refused}: ${name} ${since}, so the server's clock is behind, this one is ahead, or an authority in the server's ${admittedBy} is not valid yet`,
    ];
  }
  // A server that says why knows better.
  const guess = how.startsWith(IT_SAYS)
    ? "is valid by itself"
    : `is valid, so the server's ${admittedBy} has to contain that issuer`;
  return ["DB_TLS_OWN_REFUSED", `${refused}: ${name} ${guess}`];
}

/** The server ended the connection after the handshake, without a word. */
export function explainHangUp(facts: DialFacts, reason: unknown): DialFailure {
  const { where, self, own, admittedBy } = facts;
  const what = `the server at ${where} hung up without a word right after the TLS handshake`;
  const problem = ownProblem(facts);
  if (problem !== undefined) return new DialFailure(problem[0], `${what}: ${problem[1]}`, reason, facts.peer);
  const as =
    own.length === 0
      ? `as servers do that want a client certificate, and ${self} was given none`
      : `as servers do that do not trust a client's certificate: ${ownCertificate(facts)} has to be of an issuer in the server's ${admittedBy}`;
  return new DialFailure("DB_SERVER_HUNG_UP", `${what}, ${as}`, reason, facts.peer);
}

/** TLS works, but what is behind it is not what was looked for. */
export function explainWrongPort(how: string, facts: DialFacts, reason?: unknown): DialFailure {
  const { where, self, mistakenFor = "another program's", peer } = facts;
  const words = `${where} is not the port that ${self} has to dial (${how}): it is ${mistakenFor}`;
  return new DialFailure("DB_WRONG_PORT", words, reason, peer);
}

/** A port that answers gRPC calls, but not a frontend's; `how` is what it said. */
export function explainOtherGrpc(how: string, facts: DialFacts): DialFailure {
  return explainWrongPort(how, { ...facts, mistakenFor: "the agents' port of a server, or another gRPC server's" });
}

/** What our listeners for gRPC say to who comes without HTTP/2. */
const WANTS_HTTP2 = /did not ask for HTTP\/2/;

/** A refusal of the connection itself, before any request was read; undefined: it is about something else. */
export function explainForbidden(words: string, facts: DialFacts): DialFailure | undefined {
  if (isAboutCertificates(words)) return explainWords(words, facts);
  if (!WANTS_HTTP2.test(words)) return undefined;
  const mistakenFor = "the agents' port of a server, or a frontend for gRPC (--mode=grpc)";
  return explainWrongPort(`${IT_SAYS} ${JSON.stringify(words)}`, { ...facts, mistakenFor });
}

/** What is left of a session that a server ended before it answered anything. */
export interface EndedSession {
  readonly goawayText: string;
  readonly transportError: Error | undefined;
  readonly failure: string | undefined;
}

export function explainSession({ goawayText, transportError, failure }: EndedSession, facts: DialFacts): DialFailure {
  if (failure === NOT_HTTP2) return explainWrongPort("it does not speak HTTP/2", facts);
  return goawayText === "" ? explainEnd(transportError, facts) : explainWords(goawayText, facts);
}

/** Our servers say why before they hang up: in a GOAWAY, or in the body of a 403. */
export function explainWords(words: string, facts: DialFacts): DialFailure {
  const said = `${IT_SAYS} ${JSON.stringify(words)}`;
  if (isAboutCertificates(words)) return explainRefused(said, facts);
  const sentence = `the server at ${facts.where} refused ${facts.self}: ${said}`;
  return new DialFailure("DB_SERVER_HUNG_UP", sentence, undefined, facts.peer);
}

const IT_SAYS = "it says";

export const isAboutCertificates = (words: string): boolean => /certificate|CA bundle/.test(words);

/** The connection ended before the server said anything but, perhaps, an alert. */
export function explainEnd(error: unknown, facts: DialFacts): DialFailure {
  const alert = alertIn(error);
  return alert === undefined ? explainHangUp(facts, error) : explainRefused(`TLS alert "${alert}"`, facts, error);
}

// ---- the server's certificate ------------------------------------------------------------------------------------------

/** Why the server's certificate was not accepted; `verdict` is OpenSSL's name for it. */
export function explainPeer(verdict: string, facts: DialFacts): DialFailure {
  const problems = peerProblems(facts, verdict);
  const [first = ["DB_TLS_SERVER_CHAIN", "is not accepted"] as const] = problems;
  const words = problems.length === 0 ? first[1] : problems.map((problem) => problem[1]).join(", and ");
  const sentence = `${serverCertificate(facts)} ${words} (${verdict})`;
  return new DialFailure(first[0], sentence, new Error(verdict), facts.peer);
}

function serverCertificate({ peer: [leaf], where }: DialFacts): string {
  if (leaf === undefined) return `the server at ${where}`;
  return `the certificate of the server at ${where} (subject ${quotedName(leaf.subject)}, issuer ${quotedName(leaf.issuer)})`;
}

/** Every problem that it has, the one to fix first in front. */
function peerProblems(facts: DialFacts, verdict: string): Problem[] {
  const { peer, name, now, self } = facts;
  const [leaf] = peer;
  if (leaf === undefined) return [["DB_TLS_FAILED", "showed no certificate"]];
  const found: Problem[] = [];
  const { untrusted, chain } = anchored(facts, verdict);
  if (untrusted !== undefined) found.push(["DB_TLS_UNKNOWN_CA", untrusted]);
  const time = timeProblem(leaf, now);
  if (time?.id === "expired") {
    // Files that were made together also end together: that alone does not make the clock wrong.
    const also = hasOwnExpired(facts) ? `, by which the files of ${self} have expired too` : "";
    found.push(["DB_TLS_SERVER_EXPIRED", `${time.words}; ${clock(now)}${also}`]);
  }
  if (time !== undefined && time.id !== "expired") found.push(["DB_TLS_CLOCK", tooEarly(time.words, now)]);
  for (const authority of chain.slice(1)) {
    const problem = timeProblem(authority, now);
    if (problem === undefined) continue;
    const code = problem.id === "expired" ? "DB_TLS_CA_EXPIRED" : "DB_TLS_CLOCK";
    found.push([code, `has an issuer, ${quotedName(authority.subject)}, which ${problem.words}; ${clock(now)}`]);
  }
  const issuers = untrusted === undefined ? issuerProblem(chain, verdict) : undefined;
  if (issuers !== undefined) found.push(["DB_TLS_SERVER_CHAIN", issuers]);
  if (!isForUse(leaf, SERVER_AUTH)) {
    found.push(["DB_TLS_SERVER_USE", "is not for TLS servers: its extended key usage has no serverAuth"]);
  }
  if (!isFor(leaf, name))
    found.push(["DB_TLS_SERVER_NAME", `is not for ${name}, which was dialled${otherNames(leaf, name)}`]);
  return found;
}

/** Whoever shows no certificate has its authorities alone. */
function hasOwnExpired({ own: [leaf], authorities = [], now }: DialFacts): boolean {
  const files = leaf === undefined ? authorities : [leaf];
  return files.length > 0 && files.every((each) => timeProblem(each, now)?.id === "expired");
}

/** The chain as far as it can be followed, and why it does not end at an authority that is trusted. */
function anchored(facts: DialFacts, verdict: string): { chain: X509Certificate[]; untrusted?: string } {
  // Which of the system's authorities would do is OpenSSL's business.
  const { peer, caFile = "", authorities = [] } = facts;
  const chain = followChain(peer[0]!, peer, authorities);
  const last = chain.at(-1)!;
  if (isAmong(last, authorities)) return { chain };
  const trust = `${caFile === "" ? "the given authorities" : caFile} (${listed(authorities.map(({ subject }) => quotedName(subject)))})`;
  const issuer = quotedName(last.issuer);
  if (facts.authorities === undefined) {
    if (certificateProblem(verdict) !== "untrusted") return { chain };
    return {
      chain,
      untrusted: `comes from ${issuer}, and no CA file was given, so only the system's authorities count`,
    };
  }
  if (authorities.some(({ subject }) => subject === last.issuer)) {
    const words = `was not signed by ${trust}: the authority there has its issuer's name and another key, so the files come from different issues`;
    return { chain, untrusted: words };
  }
  if (last.subject === last.issuer) {
    const what = chain.length === 1 ? "signed itself" : `comes from ${issuer}`;
    return { chain, untrusted: `${what} and is not vouched for by ${trust}` };
  }
  const missing = `the server does not send that of ${issuer}, which may be an intermediate one`;
  return { chain, untrusted: `was not signed by any of ${trust}, and ${missing}` };
}
