import type { Side } from "../render/manifest.js";

export type Action = "created" | "changed" | "unchanged" | "deleted" | "released" | "skipped";

export interface Change {
  /** As in `spec.replicas`. */
  readonly path: string;
  /** Undefined where there is none. */
  readonly before: unknown;
  readonly after: unknown;
}

/** What became of one object, or would. */
export interface Outcome {
  readonly side: Side;
  readonly object: string;
  readonly action: Action;
  /** Why it was skipped. */
  readonly why?: string;
  readonly changes?: readonly Change[];
}

export interface Report {
  readonly outcomes: readonly Outcome[];
  /** Certificates that were made, with the reason. */
  readonly issued: readonly { readonly name: string; readonly why: string }[];
}

export const isChange = ({ action }: Outcome): boolean => action !== "unchanged" && action !== "skipped";
