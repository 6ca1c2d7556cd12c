/** The one answer to "is it healthy", made of the findings of the one diagnosis: on the page, in top and by drawbridge status. */
import type { Finding } from "../../base/finding.js";

export type HealthState = "healthy" | "degraded" | "down";

export interface Health {
  readonly state: HealthState;
  /** The worst first, one for each thing that is wrong. */
  readonly causes: readonly HealthCause[];
}

export interface HealthCause {
  readonly state: "failed" | "warning";
  /** The check that found it, which is also where a page shows it whole. */
  readonly check: string;
  /** In a few words. */
  readonly text: string;
  /** Those that are said in the same words are one cause. */
  readonly findings: readonly Finding[];
}

/** A failed finding means that something does not work at all; a warning, that it works badly or will not for long. */
export function healthOf(findings: readonly Finding[]): Health {
  const causes = (["failed", "warning"] as const).flatMap((state) => causesOf(findings, state));
  return { state: causes.length === 0 ? "healthy" : causes[0]!.state === "failed" ? "down" : "degraded", causes };
}

function causesOf(findings: readonly Finding[], state: "failed" | "warning"): HealthCause[] {
  const alike = new Map<string, Finding[]>();
  for (const finding of findings.filter((each) => each.state === state)) {
    const key = `${finding.check} ${finding.short ?? finding.message}`;
    alike.set(key, [...(alike.get(key) ?? []), finding]);
  }
  return [...alike.values()].map((all) => ({ state, check: all[0]!.check, text: textOf(all), findings: all }));
}

const MOST_SUBJECTS = 3;

/** `agent refused: expired certificate, 3 × (10.0.3.7, 10.0.3.8)`, without the count where the words have it. */
function textOf(all: readonly Finding[]): string {
  const { short, message, details } = all[0]!;
  const text = short ?? message;
  const subjects = [...new Set(all.flatMap(({ subject }) => subject ?? []))].filter((each) => !text.includes(each));
  const more = subjects.length > MOST_SUBJECTS ? [...subjects.slice(0, MOST_SUBJECTS), "…"] : subjects;
  const count = all.length === 1 || details?.total !== undefined ? "" : `, ${all.length} ×`;
  return more.length === 0 ? `${text}${count}` : `${text}${count} (${more.join(", ")})`;
}
