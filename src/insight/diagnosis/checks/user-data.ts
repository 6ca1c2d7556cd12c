/** Whether machines can get their configuration: its payload, and the token in their user data, which is never used. */
import { coded, type Judgement, ok, skipped } from "../../../base/finding.js";
import { pathOf, type Secret, secondTime, secretText } from "../../../cluster/nodes/objects.js";
import { readOwnToken } from "../../../cluster/nodes/serving/worker-tokens.js";
import { ROTATE_AFTER_MS, readTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { readUserData } from "../../../cluster/nodes/token/user-data.js";
import { poolReport } from "../../../cluster/nodes/workers/status.js";
import { defineCheck } from "../check.js";
import { type PoolState, readPointer, type UserDataPointer, type WorkerState } from "../sources/pool.js";
import { rewriteUserData } from "../workers/fixes.js";

export const payload = defineCheck({
  ...{ id: "payload", about: "There is a payload for the pool's machines", needs: ["poolState"] },
  judge({ poolState: { hash, object, pool, tokenSecret } }) {
    const subject = pathOf(pool);
    const code = "DB_NODE_PAYLOAD" as const;
    const complaints = poolReport(subject, { hash, pool: object })
      .problems.map(({ message }) => message)
      // Reported below, with more detail.
      .filter((message) => !message.startsWith("ValidGeneratedPayload"));
    if (hash === "" || tokenSecret === undefined) {
      const message =
        hash === ""
          ? `pool ${subject} has no configuration yet`
          : `pool ${subject} has no token Secret for its configuration ${hash}`;
      const remedy = `See that the pool's controller runs; drawbridge nodepool status ${pool.name} shows every condition.`;
      const isHandled = (object.status?.conditions ?? []).length > 0;
      return { ...coded(code, message, ...complaints), ...(isHandled ? {} : { remedy }) };
    }
    const problem = payloadProblem(tokenSecret, `pool ${subject}`);
    if (problem !== undefined) return { ...problem, evidence: [...problem.evidence, ...complaints] };
    if (complaints.length > 0) {
      const message = `pool ${subject} is served, but its controller complains: ${complaints[0]}`;
      return { ...coded(code, message, ...complaints), state: "warning" as const };
    }
    return ok(`the payload of ${subject} is made`, nameOf(tokenSecret));
  },
});

/** What the Ignition servers wrote beside a token about its payload. */
export function payloadProblem(secret: Secret, whose: string): Judgement | undefined {
  const { outcome } = readTokenSecret(secret);
  const code = "DB_NODE_PAYLOAD" as const;
  if (outcome === undefined) {
    const message = `no Ignition server has made the payload of ${whose} yet, so machines get 511`;
    const remedy = `Start drawbridge ignition serve --namespace ${secret.metadata?.namespace}; beside HyperShift look at its ignition-server.`;
    return { ...coded(code, message, `${nameOf(secret)} has no key reason`), remedy };
  }
  if (outcome.reason === "AsExpected" || outcome.reason === "PayloadTooLarge") return undefined;
  const message = `no payload can be made for ${whose}, so machines get 511: ${outcome.message || outcome.reason}`;
  return coded(code, message, `${nameOf(secret)}: ${outcome.reason}`);
}

const nameOf = ({ metadata }: Secret) => `Secret ${metadata?.namespace}/${metadata?.name}`;

export const userData = defineCheck({
  ...{ id: "user-data", about: "User data has a token that is good", needs: ["poolState"] },
  judge: ({ poolState }) => [
    ...(poolState.isLimited ? [] : [judgePool(poolState)]),
    ...poolState.workers.map((one) => ({ ...judgeWorker(poolState, one), subject: one.worker.name })),
  ],
});

function judgePool(state: PoolState): Judgement {
  const { pool, userDataSecret } = state;
  if (userDataSecret === undefined) return skipped(`${pathOf(pool)} has no user data yet`);
  const name = nameOf(userDataSecret);
  const found = problemOf(readUserData(userDataSecret), (pointer) => poolToken(state, pointer));
  if (found === undefined) return ok(`the user data of ${pathOf(pool)} has its token`, name);
  const remedy = "See that the pool's controller runs: it writes user data again after every rotation.";
  return { ...found, message: `${name}: ${found.message}`, remedy };
}

function judgeWorker(state: PoolState, of: WorkerState): Judgement {
  const { file, node, userData: text, worker } = of;
  if (node !== undefined) return skipped(`${worker.name} has joined and needs its user data no more`);
  // Its token was revoked on purpose.
  if (worker.leaving !== undefined) return skipped(`${worker.name} is being ${worker.leaving}`);
  if (text === undefined) return skipped(`${worker.name} has no user data in ${file}`);
  const judge = (pointer: UserDataPointer) =>
    worker.ownToken ? ownToken(state, of, pointer) : poolToken(state, pointer);
  const found = problemOf(text, judge);
  if (found === undefined) return ok(`the user data of ${worker.name} has a token that is good`, file);
  return {
    ...found,
    message: `the user data of ${worker.name}: ${found.message}`,
    evidence: [file, ...found.evidence],
    fix: rewriteUserData(state.context, of),
  };
}

function problemOf(text: string, judge: (pointer: UserDataPointer) => Judgement | undefined): Judgement | undefined {
  const pointer = readPointer(text);
  return typeof pointer === "string" ? coded("DB_NODE_USER_DATA", pointer) : judge(pointer);
}

function poolToken(
  { hash, now, tokenSecret, tokenSecrets }: PoolState,
  pointer: UserDataPointer,
): Judgement | undefined {
  const holder = tokenSecrets.find((secret) => {
    const { oldToken, token } = readTokenSecret(secret);
    return token === pointer.token || oldToken === pointer.token;
  });
  if (holder === undefined) {
    const evidence = `made for configuration ${pointer.hash || "?"}; the pool has ${hash || "none"}`;
    return pointer.hash !== "" && pointer.hash !== hash
      ? coded("DB_NODE_TOKEN_EXPIRED", "its token has ended with the pool's former configuration", evidence)
      : coded("DB_NODE_TOKEN_UNKNOWN", "its token is not the pool's, nor the one before it", evidence);
  }
  const { expiresAt, generatedAt, token } = readTokenSecret(holder);
  if (expiresAt !== undefined && !(expiresAt > now))
    return coded("DB_NODE_TOKEN_EXPIRED", `its token ended at ${time(expiresAt)}`, nameOf(holder));
  const old = (message: string): Judgement => ({
    ...coded("DB_NODE_USER_DATA_OLD", message, nameOf(holder)),
    state: "warning",
  });
  if (holder !== tokenSecret) {
    const until = expiresAt === undefined ? "" : `, and ends at ${time(expiresAt)}`;
    return old(`its token is of a former configuration${until}`);
  }
  if (token === pointer.token) return undefined;
  const until = generatedAt === undefined ? "the next rotation" : time(generatedAt + ROTATE_AFTER_MS);
  return old(`its token is the one before the pool's, and ends at ${until}`);
}

function ownToken(
  { now, workerTokens }: PoolState,
  { worker }: WorkerState,
  { token }: UserDataPointer,
): Judgement | undefined {
  const own = readOwnToken(secretText(workerTokens ?? {}, worker.name) ?? "");
  if (own.token === token && own.ends > now) return undefined;
  if (own.token === token) {
    const closed = `its own token has ended with its window, at ${time(own.ends)}`;
    const remedy = `Open it again with drawbridge workers userdata ${worker.name} --renew, and boot the machine with that user data.`;
    return { ...coded("DB_NODE_TOKEN_EXPIRED", closed), remedy };
  }
  const where = workerTokens === undefined ? "there is no Secret with workers' tokens" : nameOf(workerTokens);
  return coded("DB_NODE_TOKEN_UNKNOWN", "its own token is not listed (any more)", where);
}

const time = (at: number) => (Number.isNaN(at) ? "a time that cannot be read" : secondTime(at));
