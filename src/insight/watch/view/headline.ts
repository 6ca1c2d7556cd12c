/** The health of a process in one line, and in the title of a tab. */
import type { Finding } from "../../../base/finding.js";
import { type HealthCause, type HealthState, healthOf } from "../../diagnosis/health.js";
import type { ProcessInfo } from "../../observe/admin/contract.js";

/** `unknown`: the process was not asked yet, or does not answer. */
export type ShownState = HealthState | "unknown";

export interface Headline {
  readonly state: ShownState;
  /** One or two words. */
  readonly word: string;
  /** The worst first. */
  readonly causes: readonly HealthCause[];
  /** What there is to say without a cause. */
  readonly note: string;
}

const WORDS: Record<HealthState, string> = { healthy: "Healthy", degraded: "Degraded", down: "Down" };

/** `findings` is undefined before the first answer: of what nobody looked at nothing good is said. */
export function headline(findings: readonly Finding[] | undefined, answers: boolean): Headline {
  if (!answers) {
    const note = "The process does not answer; what follows is what it said last.";
    return { state: "unknown", word: "No answer", causes: [], note };
  }
  if (findings === undefined) return { state: "unknown", word: "Asking", causes: [], note: "How it is, it says soon." };
  const { state, causes } = healthOf(findings);
  return { state, word: WORDS[state], causes, note: causes.length === 0 ? "Nothing wrong was found." : "" };
}

type Named = Pick<ProcessInfo, "role" | "id" | "host" | "pid">;

/** `Degraded · server-1 on cp-1 (pid 4711) · drawbridge`: of many tabs this is all that is seen. */
export function tabTitle({ word }: Headline, process: Named): string {
  const { id, host, pid } = process;
  // Some roles have no other name than their host's.
  const name = id === host ? `${id} (pid ${pid})` : shortName(process);
  return `${word} · ${name}${host === undefined || id === host ? "" : ` on ${placeOf(process)}`} · drawbridge`;
}

/** The host and the process on it. */
export const placeOf = ({ host, pid }: { host?: string | undefined; pid?: number | undefined }): string =>
  `${host} (pid ${pid})`;

/** A server that was given no ID has a random one, of which the beginning is enough. */
function shortName({ role, id }: Named): string {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(id) ? `${role} ${id.slice(0, 8)}` : id;
}

/** Where on a page each finding is. It stays there while the words change: `gone for 2 min`. */
export function placesOf(findings: readonly Finding[]): Map<Finding, string> {
  const places = new Map<Finding, string>();
  const counts = new Map<string, number>();
  for (const finding of findings) {
    const name = `finding-${finding.check}-${finding.subject ?? ""}`.replace(/[^\w-]/g, "_");
    const nth = (counts.get(name) ?? 0) + 1;
    counts.set(name, nth);
    places.set(finding, nth === 1 ? name : `${name}-${nth}`);
  }
  return places;
}
