/** What verify found, for people. */

import { table } from "../../base/text.js";
import type { Verdict, Verified } from "../../cluster/nodes/workers/verify.js";

export function verdictText(verdict: Verdict): string {
  const { ok, pool, workers } = verdict;
  const rows = workers.map((worker) => [worker.name, ...cells(worker)]);
  const lacks = [
    ...pool.lacks.map((lack) => ({ who: `pool ${pool.name}`, ...lack })),
    ...workers.flatMap(({ lack, name }) => (lack === undefined ? [] : [{ who: name, ...lack }])),
  ];
  return [
    table([["WORKER", "FETCHED", "NODE", "LABELS", "POD", "CONFIGURATION"], ...rows]),
    ...lacks.map(({ remedy, what, who }) => `${who}: ${what}\n  -> ${remedy}\n`),
    ok ? `All ${workers.length} workers of ${pool.name} are at work.\n` : `${counted(lacks.length)} missing.\n`,
  ].join("");
}

function counted(things: number): string {
  return things === 1 ? "1 thing is" : `${things} things are`;
}

function cells({ configuration, fetched, furnished, made, pod, ready, registered }: Verified): string[] {
  const node = registered ? (ready ? "Ready" : "NotReady") : made ? "missing" : "no machine";
  return [fetched, node, registered ? (furnished ? "yes" : "no") : "-", pod ?? "-", configuration];
}
