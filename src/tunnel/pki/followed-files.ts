import { statSync } from "node:fs";
import { DrawbridgeError } from "../../base/errors/error.js";

export interface FollowOptions<Content> {
  /** How often the files are checked. Default 5 s. */
  readonly intervalMs?: number;
  /** Called when new content that can be used is on disk. */
  readonly onChange?: (content: Content) => void;
  /** The files changed into something unusable; what was read before stays in force. Called once per change. */
  readonly onProblem?: (error: DrawbridgeError) => void;
  /** Runs `tick` again and again until the returned function is called. Tests give their own. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
}

export interface FollowedSource<Content> {
  /** Paths of the files; empty and undefined ones are left out. */
  readonly paths: readonly (string | undefined)[];
  /** Throws a DrawbridgeError when the files cannot be used. */
  read(): Content;
  isSame(one: Content, two: Content): boolean;
  /** A file that was written to less than this ago may not be complete yet: it is read at a later check. */
  readonly quietMs?: number;
}

/**
 * What is read from files that may be replaced on disk while the process runs. The constructor reads them and throws when
 * they cannot be used; later changes arrive through `onChange`.
 *
 * Files are polled, not watched: Kubernetes swaps a `..data` link above the files, which fs.watch on a file never sees.
 */
export class FollowedFiles<Content> {
  #content: Content;
  #seen: string;
  readonly #source: FollowedSource<Content>;
  readonly #options: FollowOptions<Content>;
  readonly #stop: () => void;

  constructor(source: FollowedSource<Content>, options: FollowOptions<Content>) {
    this.#source = source;
    this.#options = options;
    // Taken before reading: a change in between is then noticed by the first check.
    this.#seen = fingerprint(source.paths);
    this.#content = source.read();
    this.#stop = (options.every ?? unrefInterval)(options.intervalMs ?? 5000, () => {
      this.check();
    });
  }

  /** The newest content that can be used. */
  get current(): Content {
    return this.#content;
  }

  /** Checks the files now; true when new content came into force. */
  check(): boolean {
    const { paths, quietMs = 0 } = this.#source;
    const before = fingerprint(paths);
    if (before === this.#seen || (quietMs > 0 && isFresh(paths, quietMs))) return false;
    let next: Content | undefined;
    let problem: DrawbridgeError | undefined;
    try {
      next = this.#source.read();
    } catch (reason) {
      if (!(reason instanceof DrawbridgeError)) throw reason;
      problem = reason;
    }
    // Files that changed while they were read may be a mixture of old and new: read them at the next check.
    if (fingerprint(paths) !== before) return false;
    this.#seen = before;
    if (problem !== undefined) {
      this.#options.onProblem?.(problem);
      return false;
    }
    if (this.#source.isSame(next!, this.#content)) return false;
    this.#content = next!;
    this.#options.onChange?.(next!);
    return true;
  }

  close(): void {
    this.#stop();
  }
}

function unrefInterval(intervalMs: number, tick: () => void): () => void {
  const timer = setInterval(tick, intervalMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** Changes with content, replacement (inode) and permissions (ctime) of what the paths lead to, links followed. */
function fingerprint(paths: readonly (string | undefined)[]): string {
  return paths
    .map((file) => {
      if (file === undefined || file === "") return "-";
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
function isFresh(paths: readonly (string | undefined)[], quietMs: number): boolean {
  return paths.some((file) => {
    const written = file ? statSync(file, { throwIfNoEntry: false })?.mtimeMs : undefined;
    const age = Date.now() - (written ?? 0);
    return age >= 0 && age < quietMs;
  });
}
