/** Whether the token that a machine was given opens anything: it is compared with the Secrets, and never used. */
import { pathOf, secondTime, secretText } from "../../objects.js";
import { rotateAfterMs } from "../../token/rotation.js";
import { readTokenSecret } from "../../token/token-secret.js";
import { readUserData } from "../../token/user-data.js";
import { freshUserData } from "../../workers/user-data.js";
import { type Ailment, type Fix, fine, type Trouble, trouble, unasked } from "../ailment.js";
import type { Patient, PatientWorker, Surgery } from "../patient.js";
import { type Pointer, readPointer } from "../pointer.js";

const ID = "user-data";

export function checkUserData(surgery: Surgery, patient: Patient): Ailment[] {
  return [
    ...(patient.isLimited ? [] : [ofPool(patient)]),
    ...patient.workers.map((worker) => ofWorker(surgery, patient, worker)),
  ];
}

function ofPool(patient: Patient): Ailment {
  const about = { id: ID, subject: pathOf(patient.pool) };
  const { userDataSecret } = patient;
  if (userDataSecret === undefined) return unasked(about, `${about.subject} has no user data yet`);
  const name = `Secret ${userDataSecret.metadata?.namespace}/${userDataSecret.metadata?.name}`;
  const remedy = "See that the pool's controller runs: it writes user data anew after every rotation.";
  const found = wrongWith(readUserData(userDataSecret), (pointer) => poolToken(patient, pointer));
  if (found === undefined) return fine(about, `the user data of ${about.subject} has its token`, name);
  return trouble(about, { ...found, finding: `${name}: ${found.finding}`, remedy });
}

function ofWorker(surgery: Surgery, patient: Patient, of: PatientWorker): Ailment {
  const { file, node, userData, worker } = of;
  const about = { id: ID, subject: worker.name };
  if (node !== undefined) return unasked(about, `${worker.name} has joined and needs its user data no more`);
  // Its token was taken from it on purpose.
  if (worker.leaving !== undefined) return unasked(about, `${worker.name} is being ${worker.leaving}`);
  if (userData === undefined) return unasked(about, `${worker.name} has no user data in ${file}`);
  const judge = (pointer: Pointer) => (worker.ownToken ? ownToken(patient, of, pointer) : poolToken(patient, pointer));
  const found = wrongWith(userData, judge);
  if (found === undefined) return fine(about, `the user data of ${worker.name} has a token that is good`, file);
  return trouble(about, {
    ...found,
    finding: `the user data of ${worker.name}: ${found.finding}`,
    evidence: [file, ...(found.evidence ?? [])],
    fix: rewriting(surgery, of),
  });
}

function wrongWith(text: string, judge: (pointer: Pointer) => Trouble | undefined): Trouble | undefined {
  const pointer = readPointer(text);
  if (typeof pointer === "string") return { code: "DB_NODE_USER_DATA", finding: pointer };
  return judge(pointer);
}

function poolToken({ hash, now, tokenSecret, tokenSecrets }: Patient, pointer: Pointer): Trouble | undefined {
  const holder = tokenSecrets.find((secret) => {
    const { oldToken, token } = readTokenSecret(secret);
    return token === pointer.token || oldToken === pointer.token;
  });
  if (holder === undefined) {
    const isFormer = pointer.hash !== "" && pointer.hash !== hash;
    const evidence = [`made for configuration ${pointer.hash || "?"}; the pool has ${hash || "none"}`];
    return isFormer
      ? { code: "DB_NODE_TOKEN_EXPIRED", finding: "its token has ended with the pool's former configuration", evidence }
      : { code: "DB_NODE_TOKEN_UNKNOWN", finding: "its token is not the pool's, nor the one before it", evidence };
  }
  const name = `Secret ${holder.metadata?.namespace}/${holder.metadata?.name}`;
  const { expiresAt, generatedAt, token } = readTokenSecret(holder);
  if (expiresAt !== undefined && !(expiresAt > now)) {
    return { code: "DB_NODE_TOKEN_EXPIRED", finding: `its token ended at ${time(expiresAt)}`, evidence: [name] };
  }
  const code = "DB_NODE_USER_DATA_OLD";
  if (holder !== tokenSecret) {
    const until = expiresAt === undefined ? "" : `, and ends at ${time(expiresAt)}`;
    const finding = `its token is of a former configuration${until}`;
    return { code, state: "warning", finding, evidence: [name] };
  }
  if (token === pointer.token) return undefined;
  const until = generatedAt === undefined ? "the next rotation" : time(generatedAt + rotateAfterMs);
  const finding = `its token is the one before the pool's, and ends at ${until}`;
  return { code, state: "warning", finding, evidence: [name] };
}

function ownToken({ workerTokens }: Patient, { worker }: PatientWorker, { token }: Pointer): Trouble | undefined {
  if (workerTokens !== undefined && secretText(workerTokens, worker.name) === token) return undefined;
  const where =
    workerTokens === undefined ? "there is no Secret with workers' tokens" : `Secret ${workerTokens.metadata?.name}`;
  return { code: "DB_NODE_TOKEN_UNKNOWN", finding: "its own token is not listed (any more)", evidence: [where] };
}

/** A file that no machine has booted with yet can be written at any time. */
function rewriting({ clusters, store }: Surgery, { file, userData, worker }: PatientWorker): Fix {
  return {
    what: `write ${file} anew, with the pool's token and configuration of now`,
    apply: async () => {
      const known = (await store.read()).find(({ name }) => name === worker.name);
      if (known === undefined || known.leaving !== undefined) return `${worker.name} is not expected any more`;
      const { hash, text } = await freshUserData(clusters.pools, known);
      if (text === userData) return `${file} is as it would be made now`;
      await store.change((all) => all.map((one) => (one.name === worker.name ? { ...one, hash } : one)));
      await store.writeUserData(worker.name, text);
      return `${file} is written; boot the machine with it`;
    },
  };
}

const time = (at: number) => (Number.isNaN(at) ? "a time that cannot be read" : secondTime(at));
