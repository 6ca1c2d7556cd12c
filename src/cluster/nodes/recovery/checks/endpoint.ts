/**
 * Whether machines would get through to the Ignition server: asked as they ask, with their authorities and proxy, but with
 * a token nobody has, since a fetch with a real one counts as a machine's.
 */
import { randomUUID } from "node:crypto";
import { messageOf } from "../../../../base/errors/error.js";
import { encoded, pathOf } from "../../objects.js";
import { Fetcher, shown } from "../../simulate/fetcher.js";
import { getAsIgnition } from "../../simulate/http-get.js";
import { readUserData } from "../../token/user-data.js";
import { type Ailment, fine, type Trouble, trouble } from "../ailment.js";
import type { Patient } from "../patient.js";
import { type Pointer, readPointer } from "../pointer.js";

const ID = "ignition-server";
const PATIENCE_MS = 5_000;
const LARGEST = 64 * 1024;

/** Each address once, with all who were given it. */
export async function checkEndpoint(patient: Patient): Promise<Ailment[]> {
  const texts: [string, string][] = [
    ...(patient.userDataSecret && !patient.isLimited
      ? [[pathOf(patient.pool), readUserData(patient.userDataSecret)] as [string, string]]
      : []),
    ...patient.workers.flatMap(({ node, userData, worker }): [string, string][] =>
      node === undefined && userData !== undefined ? [[worker.name, userData]] : [],
    ),
  ];
  const ways = new Map<string, { pointer: Pointer; subjects: string[] }>();
  for (const [subject, text] of texts) {
    const pointer = readPointer(text);
    if (typeof pointer === "string") continue;
    const key = JSON.stringify([pointer.source, pointer.config.ignition.security, pointer.config.ignition.proxy]);
    const way = ways.get(key);
    if (way === undefined) ways.set(key, { pointer, subjects: [subject] });
    else way.subjects.push(subject);
  }
  return Promise.all([...ways.values()].map(({ pointer, subjects }) => askAt(pointer, subjects)));
}

async function askAt({ config, source }: Pointer, subjects: readonly string[]): Promise<Ailment> {
  const about = { id: ID, subject: subjects.join(", ") };
  const url = new URL(source);
  const found = await asked(config, url);
  if (found === undefined) return fine(about, `${shown(url)} answers, with a certificate that machines accept`);
  return trouble(about, { ...found, evidence: [`given to ${about.subject}`, ...(found.evidence ?? [])] });
}

async function asked(config: Pointer["config"], url: URL): Promise<Trouble | undefined> {
  try {
    const { status } = await getAsIgnition(url, {
      headers: { authorization: `Bearer ${encoded(randomUUID())}` },
      trust: await new Fetcher({ patienceMs: PATIENCE_MS }).trust(config),
      proxy: config.ignition.proxy,
      headTimeoutMs: PATIENCE_MS,
      signal: AbortSignal.timeout(2 * PATIENCE_MS),
      maxBytes: LARGEST,
    });
    return status === 511 ? undefined : odd(shown(url), status);
  } catch (reason) {
    return failed(shown(url), reason);
  }
}

function odd(source: string, status: number): Trouble {
  const meanings: Readonly<Record<number, string>> = {
    200: "it gives a payload to a token that nobody has, so it is no Ignition server of a pool",
    401: "something on the way takes the Authorization header away",
    404: "there is no such path, so it is another server",
  };
  const why = meanings[status] ?? "an Ignition server answers 511 to a token that it does not know";
  return { code: "DB_NODE_IGNITION_UNREACHABLE", finding: `${source} answers ${status}: ${why}` };
}

/** Of Node and OpenSSL: what is wrong with the certificate, and not with the way. */
const certificateErrors: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: "is not for that address",
  CERT_HAS_EXPIRED: "has ended",
  CERT_NOT_YET_VALID: "is not valid yet, or a clock is wrong",
  CERT_SIGNATURE_FAILURE: "is signed by another authority than the user data names",
  DEPTH_ZERO_SELF_SIGNED_CERT: "is signed by itself, and the user data does not name it",
  SELF_SIGNED_CERT_IN_CHAIN: "is signed by another authority than the user data names",
  UNABLE_TO_GET_ISSUER_CERT: "is signed by another authority than the user data names",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "is signed by another authority than the user data names",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "is signed by another authority than the user data names",
};

function failed(source: string, reason: unknown): Trouble {
  const { cert, code = "" } = reason as { code?: string; cert?: { subjectaltname?: string } };
  const wrong = certificateErrors[code];
  if (wrong === undefined) {
    return {
      code: "DB_NODE_IGNITION_UNREACHABLE",
      finding: `${source} does not answer`,
      evidence: [messageOf(reason) || code],
    };
  }
  const names = cert === undefined ? [] : [`its certificate is for ${cert.subjectaltname ?? "no name at all"}`];
  return {
    code: "DB_NODE_IGNITION_NAME",
    finding: `the certificate of ${source} ${wrong}, so machines ask for ever`,
    evidence: [code, ...names],
  };
}
