/** The repairs that `workers doctor --fix` makes, and how they are applied and logged. */
import { dirname } from "node:path";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { messageOf } from "../../../base/errors/error.js";
import { makeDirectory } from "../../../base/files.js";
import type { Finding, Fix } from "../../../base/finding.js";
import { carryOut, decide, openDecisionLog, snapshotOf } from "../../../cluster/nodes/csr/decide.js";
import { requestName } from "../../../cluster/nodes/csr/signing-request.js";
import { openLineLog } from "../../../cluster/nodes/line-log.js";
import { freshUserData } from "../../../cluster/nodes/token/user-data.js";
import type { PoolContext, WorkerState } from "../sources/pool.js";

/** A file that no machine has booted with yet can be written at any time. */
export function rewriteUserData({ clusters, store }: PoolContext, { file, userData, worker }: WorkerState): Fix {
  return {
    what: `write ${file} again, with the pool's token and configuration of now`,
    async apply() {
      const known = (await store.read()).find(({ name }) => name === worker.name);
      if (known === undefined || known.leaving !== undefined) return `${worker.name} is not expected any more`;
      const { hash, text } = await freshUserData(clusters.pools, known);
      if (text === userData) return `${file} is as it would be made now`;
      await store.update(worker.name, (one) => ({ ...one, hash }));
      await store.writeUserData(worker.name, text);
      return `${file} is written; boot the machine with it`;
    },
  };
}

/** As the approver does: everything is read again, since earlier approvals count, and the decision is recorded first. */
export function approveRequest({ clusters, inventory, memory, now, policy }: PoolContext, name: string): Fix {
  const api = clusters.nodes;
  return {
    what: `approve ${name}, as drawbridge csr approver would`,
    async apply() {
      const store = memory();
      const look = await snapshotOf({ api, inventory, store }, policy, now());
      const request = look.requests.find((one) => requestName(one) === name);
      const decision = request && decide(request, look.state);
      if (request === undefined || decision === undefined)
        return `${name} was left alone: somebody decided it meanwhile`;
      if (decision.action !== "approve") return `${name} was left alone: ${decision.explanation}`;
      await store.remember(new Map([[decision.node, decision.remember]]));
      const actor = { api, log: openDecisionLog(), by: "doctor", mayWrite: () => true };
      const result = await carryOut(actor, request, { ...look.state, memory: store.memory });
      return result.done
        ? `${name} is approved: ${result.decision.explanation}`
        : `${name} was left alone: ${result.because}`;
    },
  };
}

export interface AppliedFix {
  readonly code: ErrorCode;
  readonly subject: string;
  readonly what: string;
  readonly outcome: "would be done" | "done" | "failed";
  /** A sentence about the result, or why there is none; empty when nothing was done. */
  readonly result: string;
}

export interface FixOptions {
  /** Reports what would be done, and does nothing. */
  readonly dryRun: boolean;
  /** Every fix is logged there as a line of JSON when it begins and when it ends. */
  readonly logFile: string;
  readonly now: () => number;
}

/** One after the other; each is logged. */
export async function applyFixes(findings: readonly Finding[], options: FixOptions): Promise<AppliedFix[]> {
  const { dryRun, logFile, now } = options;
  const fixable = fixableOf(findings);
  if (dryRun || fixable.length === 0)
    return fixable.map(({ entry }) => ({ ...entry, outcome: "would be done", result: "" }));
  // If the directory cannot be made, the log cannot be opened either, and that error is reported.
  await makeDirectory(dirname(logFile), 0o700).catch(() => undefined);
  const log = openLineLog("fix log", logFile, "DB_FIX_LOG");
  const done: AppliedFix[] = [];
  try {
    for (const { entry, fix } of fixable) {
      log.write({ at: time(now()), outcome: "begun", ...entry });
      const applied = await fix.apply().then(
        (result) => ({ outcome: "done" as const, result }),
        (reason: unknown) => ({ outcome: "failed" as const, result: messageOf(reason) }),
      );
      log.write({ at: time(now()), ...entry, ...applied });
      done.push({ ...entry, ...applied });
    }
  } finally {
    log.close();
  }
  return done;
}

/** Fixes that another command prevented. */
export function postponeFixes(findings: readonly Finding[], why: string): AppliedFix[] {
  return fixableOf(findings).map(({ entry }) => ({ ...entry, outcome: "failed", result: why }));
}

function fixableOf(findings: readonly Finding[]) {
  return findings.flatMap(({ code, fix, subject = "" }) =>
    code && fix ? [{ fix, entry: { code, subject, what: fix.what } }] : [],
  );
}

const time = (at: number) => new Date(at).toISOString();
