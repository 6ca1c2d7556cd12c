/** How the clean-up of an OpenShift bootstrap host stands that outlasted its stage: what the injected script writes down. */
import { at, jsonOf } from "../../../base/at.js";

export interface CleanupState {
  /** The unit is at work; the objects are gone; it gave up after the certificates' end, and they stay. */
  readonly state: "pending" | "removed" | "given-up";
  /** Objects in the cluster, perhaps files as well, or files of this host alone. */
  readonly left: "objects" | "files";
  readonly namespace: string;
  /** ISO 8601, as all times here. */
  readonly since: string;
  /** The end of the bridge's certificates. */
  readonly until: string;
  readonly attempts: number;
  readonly lastAttemptAt: string;
  /** One line; of the last attempt that failed. */
  readonly lastError: string;
}

/** How long it has been tried, as the end of a sentence about what is left. */
export const cleanupEffort = ({ state, attempts, since }: CleanupState): string => {
  const often = attempts === 1 ? "1 attempt" : `${attempts} attempts`;
  return state === "pending"
    ? `has not succeeded in ${often} since ${since} and goes on`
    : `gave up after ${often} since ${since}`;
};

/** Undefined when the text is not the script's. */
export function readCleanupState(text: string): CleanupState | undefined {
  const value = jsonOf(text);
  const word = (name: string): string => String(at(value, name) ?? "");
  const state = word("state");
  if (state !== "pending" && state !== "removed" && state !== "given-up") return undefined;
  return {
    state,
    left: word("left") === "files" ? "files" : "objects",
    namespace: word("namespace"),
    since: word("since"),
    until: word("until"),
    attempts: Number(at(value, "attempts")) || 0,
    lastAttemptAt: word("lastAttemptAt"),
    lastError: word("lastError"),
  };
}
