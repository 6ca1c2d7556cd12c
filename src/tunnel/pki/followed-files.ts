import { statSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { DrawbridgeError } from "../../base/errors/error.js";

export interface FollowOptions<Content> {
  /** Called when new content that can be used is on disk. */
  readonly onChange?: (content: Content) => void;
  /** The files changed into something unusable; what was read before stays in force. Called once per change. */
  readonly onProblem?: (error: DrawbridgeError) => void;
  /** After a problem: what is in force is what the files hold again. */
  readonly onRecovery?: () => void;
  /** A file that was written to less than this ago may not be complete yet: it is read at a later check. */
  readonly quietMs?: number;
  /** Runs `tick` again and again until the returned function is called. Tests give their own. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
}

export interface FileProblem {
  readonly error: DrawbridgeError;
  /** When it was noticed, in milliseconds since 1970. */
  readonly at: number;
}

export const CHECK_INTERVAL_MS = 5000;

/**
 * What is read from files that may be replaced on disk while the process runs. The constructor reads them and throws when
 * they cannot be used; later changes arrive through `onChange`. Paths that are empty or undefined are left out.
 *
 * Files are polled, not watched: Kubernetes swaps a `..data` link above the files, which fs.watch on a file never sees.
 */
export class FollowedFiles<Content> {
  #content: Content;
  #seen: string;
  #problem: FileProblem | undefined;
  readonly #paths: readonly string[];
  readonly #read: () => Content;
  readonly #options: FollowOptions<Content>;
  readonly #stop: () => void;

  /** `read` throws a DrawbridgeError when the files cannot be used. */
  constructor(paths: readonly (string | undefined)[], read: () => Content, options: FollowOptions<Content>) {
    this.#paths = paths.filter((path) => path !== undefined && path !== "") as string[];
    this.#read = read;
    this.#options = options;
    // Taken before reading: a change in between is then noticed by the first check.
    this.#seen = fingerprint(this.#paths);
    this.#content = read();
    const { every = unrefInterval } = options;
    this.#stop = every(CHECK_INTERVAL_MS, () => void this.check());
  }

  /** The newest content that can be used. */
  get current(): Content {
    return this.#content;
  }

  /** Why what is on disk now is not in force; undefined when it is. A known problem is looked for again before it is told. */
  get problem(): FileProblem | undefined {
    if (this.#problem !== undefined) this.check();
    return this.#problem;
  }

  /** Checks the files now; true when new content came into force. */
  check(): boolean {
    const { quietMs = 0, onChange, onProblem, onRecovery } = this.#options;
    const before = fingerprint(this.#paths);
    if (before === this.#seen || isFresh(this.#paths, quietMs)) return false;
    let next: Content | undefined;
    let problem: DrawbridgeError | undefined;
    try {
      next = this.#read();
    } catch (reason) {
      if (!(reason instanceof DrawbridgeError)) throw reason;
      problem = reason;
    }
    // Files that changed while they were read may be a mixture of old and new: read them at the next check.
    if (fingerprint(this.#paths) !== before) return false;
    this.#seen = before;
    const hadProblem = this.#problem !== undefined;
    this.#problem = problem && { error: problem, at: Date.now() };
    if (problem !== undefined) {
      onProblem?.(problem);
      return false;
    }
    if (isDeepStrictEqual(next, this.#content)) {
      if (hadProblem) onRecovery?.();
      return false;
    }
    this.#content = next!;
    onChange?.(next!);
    return true;
  }

  close(): void {
    this.#stop();
  }
}

export function unrefInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs).unref();
  return () => clearInterval(timer);
}

/** Changes with content, replacement (inode) and permissions (ctime) of what the paths lead to, links followed. */
export function fingerprint(paths: readonly string[]): string {
  return paths
    .map((file) => {
      try {
        const { dev, ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
        return [dev, ino, size, mtimeNs, ctimeNs].join(":");
      } catch (reason) {
        return String((reason as NodeJS.ErrnoException).code);
      }
    })
    .join(" ");
}

/** A time in the future means that a clock is wrong, and is ignored. */
function isFresh(paths: readonly string[], quietMs: number): boolean {
  return paths.some((file) => {
    const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
    return age >= 0 && age < quietMs;
  });
}
