/** Which faults touched which paths, and when: what the innocent are told apart by. */

/** Whether what runs over the path is merely late, or may end. */
export type Severity = "delay" | "break";

/** A tunnel's way; the agent is unknown until the server has been asked. */
export interface Path {
  readonly server: number;
  readonly agent?: number | undefined;
}

/** What a fault touches; left out means all. */
export interface Area {
  readonly server?: number;
  readonly agent?: number;
}

export interface Impact extends Area {
  readonly kind: string;
  readonly severity: Severity;
  readonly from: number;
  /** Absent while it lasts. */
  until?: number;
}

/** An end is seen a moment after its cause, and some causes are known only afterwards. */
const MARGIN_MS = 2_000;

export class Impacts {
  readonly #all: Impact[] = [];

  begin(kind: string, severity: Severity, area: Area, from = performance.now()): Impact {
    const impact: Impact = { kind, severity, ...area, from };
    this.#all.push(impact);
    return impact;
  }

  end(impact: Impact): void {
    impact.until ??= performance.now();
  }

  /** Something touched the path between two moments, up to a margin. */
  touched(path: Path, from: number, to: number, severity?: Severity): boolean {
    return this.#on(path).some(
      (impact) =>
        (severity === undefined || impact.severity === severity) &&
        impact.from - MARGIN_MS <= to &&
        (impact.until ?? Number.POSITIVE_INFINITY) + MARGIN_MS >= from,
    );
  }

  /** Since when the path is untouched, but not before `since`; undefined while something still touches it. */
  clearSince(path: Path, since: number): number | undefined {
    let clear = since;
    for (const impact of this.#on(path)) {
      if (impact.until === undefined) return undefined;
      clear = Math.max(clear, impact.until);
    }
    return clear;
  }

  #on(path: Path): Impact[] {
    return this.#all.filter(
      ({ server, agent }) =>
        (server === undefined || server === path.server) &&
        (agent === undefined || path.agent === undefined || agent === path.agent),
    );
  }
}
