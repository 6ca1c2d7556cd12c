/** `drawbridge workers doctor`: looks at pools, and applies the fixes that their findings offer. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { coded, type Finding, hasFailed } from "../../../base/finding.js";
import { type ObjectName, pathOf, readPath } from "../../../cluster/nodes/objects.js";
import { exclusively, isBusy } from "../../../cluster/nodes/workers/lock.js";
import { bootstrapCredential } from "../checks/bootstrap-credential.js";
import { clusterNetwork } from "../checks/cluster-network.js";
import { ignitionServer, nodesReady, requests } from "../checks/machines.js";
import { payload, userData } from "../checks/user-data.js";
import { findingsJson, findingsText } from "../report.js";
import { gathererOf, runChecks } from "../run.js";
import { type PoolContext, poolSource } from "../sources/pool.js";
import { type AppliedFix, applyFixes, type FixOptions, postponeFixes } from "./fixes.js";

export interface WorkersDoctorOptions {
  readonly context: PoolContext;
  /** Undefined: the pools of all recorded workers. */
  readonly pool: ObjectName | undefined;
  /** Only these workers; empty for all. */
  readonly names: readonly string[];
  /** Undefined: nothing is changed. */
  readonly fix: FixOptions | undefined;
}

export interface PoolDiagnosis {
  readonly pool: string;
  /** After the fixes. */
  readonly findings: readonly Finding[];
  readonly fixes: readonly AppliedFix[];
}

/** In the order in which a machine depends on them. */
const checks = [payload, userData, ignitionServer, bootstrapCredential, requests, nodesReady, clusterNetwork];

/** Rejects when the pool itself cannot be read. */
export async function examinePool(
  context: PoolContext,
  pool: ObjectName,
  names: readonly string[],
): Promise<Finding[]> {
  const gatherer = gathererOf(poolSource(context, pool, names), new AbortController().signal);
  await gatherer.get("poolState");
  const findings = await runChecks(checks, gatherer, { uncheckedCode: "DB_NODE_UNCHECKED" });
  return findings.map((finding) => ({ ...finding, subject: finding.subject ?? pathOf(pool) }));
}

export async function diagnosePools(options: WorkersDoctorOptions): Promise<PoolDiagnosis[]> {
  const pools = await poolsOf(options);
  const diagnoses: PoolDiagnosis[] = [];
  for (const pool of pools) {
    try {
      diagnoses.push(await diagnosePool(options, pool));
    } catch (reason) {
      // A pool that is gone must not hide the other pools.
      if (pools.length === 1) throw reason;
      const subject = pathOf(pool);
      const judgement = coded("DB_NODE_UNCHECKED", `pool ${subject} could not be read: ${messageOf(reason)}`);
      diagnoses.push({ pool: subject, findings: [{ check: "pool", about: "", ...judgement, subject }], fixes: [] });
    }
  }
  return diagnoses;
}

export const haveFailed = (diagnoses: readonly PoolDiagnosis[]): boolean =>
  diagnoses.some(({ findings }) => hasFailed(findings));

async function diagnosePool({ context, fix, names }: WorkersDoctorOptions, pool: ObjectName): Promise<PoolDiagnosis> {
  const findings = await examinePool(context, pool, names);
  const path = pathOf(pool);
  if (fix === undefined) return { pool: path, findings, fixes: [] };
  const changesAnything = !fix.dryRun && findings.some((finding) => finding.fix !== undefined);
  if (!changesAnything) return { pool: path, findings, fixes: await applyFixes(findings, fix) };
  // Another command may be writing the same user data.
  const fixes = await exclusively(context.store.directory, () => applyFixes(findings, fix)).catch((reason: unknown) => {
    if (isBusy(reason)) return postponeFixes(findings, reason.message);
    throw reason;
  });
  return { pool: path, findings: await examinePool(context, pool, names), fixes };
}

async function poolsOf({ context, names, pool }: WorkersDoctorOptions): Promise<ObjectName[]> {
  const workers = await context.store.read();
  const unknown = names.find((name) => !workers.some((worker) => worker.name === name));
  if (unknown !== undefined) throw new DrawbridgeError("DB_WORKERS", `there is no worker ${unknown}`);
  if (pool !== undefined) return [pool];
  const paths = workers.filter(({ name }) => names.length === 0 || names.includes(name)).map((worker) => worker.pool);
  const pools = [...new Set(paths)].sort().flatMap((path) => readPath(path) ?? []);
  if (pools.length > 0) return pools;
  throw new DrawbridgeError("DB_WORKERS", "no worker is recorded, so the pool is not known; give --pool");
}

export function diagnosesText(diagnoses: readonly PoolDiagnosis[], isFixing: boolean): string {
  return diagnoses
    .map(({ findings, fixes, pool }) =>
      [`Pool ${pool}\n\n`, findingsText(findings), isFixing ? fixesText(fixes) : fixHint(findings)].join(""),
    )
    .join("\n");
}

export function diagnosesJson(diagnoses: readonly PoolDiagnosis[]): object {
  const pools = diagnoses.map(({ findings, ...head }) => findingsJson(head, findings));
  return { ok: !haveFailed(diagnoses), pools };
}

function fixesText(fixes: readonly AppliedFix[]): string {
  if (fixes.length === 0) return "\nThere was nothing that could be fixed from here.\n";
  const line = ({ code, outcome, result, what }: AppliedFix) =>
    `  ${outcome}: ${what} (${code})${result === "" ? "" : `\n      ${result}`}\n`;
  return `\nFixes:\n${fixes.map(line).join("")}`;
}

function fixHint(findings: readonly Finding[]): string {
  const fixable = findings.filter(({ fix }) => fix !== undefined).length;
  return fixable === 0 ? "" : `--fix can do something about ${fixable} of these; --fix --dry-run says what.\n`;
}
