import { type ContenderName, oursIn } from "../contenders/contender.js";
import type { Measured } from "../rounds.js";
import type { Fault } from "../rows/row.js";

export interface Incident {
  readonly row: string;
  readonly name: ContenderName;
  readonly round: number;
  readonly fault: Fault;
  /** One of the things that bind everywhere and cannot be waived. */
  readonly binding: boolean;
}

export function incidentsOf(measured: Measured): Incident[] {
  const incidents: Incident[] = [];
  for (const [row, contenders] of measured) {
    for (const [name, rounds] of contenders) {
      rounds.forEach((measurement, round) => {
        for (const fault of measurement?.faults ?? []) {
          incidents.push({ row: row.name, name, round, fault, binding: binds(fault.kind, name) });
        }
      });
    }
  }
  return incidents;
}

/**
 * Bytes, memory and serving again bind wherever one of the ends is ours. Isolation needs both: a Go server that is frozen
 * cannot be thawed by its agent, nor a Go agent by its server. Any other failure counts where all is ours.
 */
export function binds(kind: Fault["kind"], name: ContenderName): boolean {
  const { server, agent } = oursIn(name);
  return kind === "frozen" || kind === "failed" ? server && agent : server || agent;
}
