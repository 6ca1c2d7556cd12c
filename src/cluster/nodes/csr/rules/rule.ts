import type { Case } from "../case.js";

/** What a request broke. A forgery is no accident: no kubelet asks for that. */
export interface Objection {
  readonly why: string;
  readonly forgery?: boolean;
}

export interface Rule {
  /** Stable: logs, tests and `--despite` name it. */
  readonly id: string;
  /** What it demands, for `csr explain`. */
  readonly demands: string;
  /** Whether a person may decide otherwise with `csr approve --despite`. */
  readonly yields: boolean;
  /** Undefined when the request is in order, or when another rule objects to what this one would need. */
  check(of: Case): string | Objection | undefined;
}
