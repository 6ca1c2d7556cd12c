/** One call of a caller, as it is written down: one line of JSON each. */
export interface Call {
  readonly kind: string;
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  readonly tookMs: number;
  /** Why it failed; absent if it was served. */
  readonly said?: string;
  /** Pods of the kube-apiserver that its connections went to. */
  readonly by?: readonly string[];
  /** Of the hosted cluster, where its session was. */
  readonly node?: string;
}

/** Every now and then each source of calls tells when the oldest of those began that have not ended. */
export interface Status {
  readonly source: string;
  /** The time of this line if none is open. */
  readonly oldest: number;
}

export type Line = Call | Status;

export const isStatus = (line: Line): line is Status => "source" in line;

/** A line of a log that may have others, too. */
export function parseLine(text: string): Line | undefined {
  if (!text.startsWith('{"kind":') && !text.startsWith('{"source":')) return undefined;
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
