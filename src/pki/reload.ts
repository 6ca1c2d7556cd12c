import { statSync } from "node:fs";
import { DrawbridgeError } from "../errors/error.js";
import { type CertificatePaths, type CertificateSet, readCertificateSet } from "./certificate-set.js";

export type { CertificatePaths, CertificateSet } from "./certificate-set.js";

export interface ReloadOptions {
  /** How often the files are looked at. Default 5 s. */
  readonly intervalMs?: number;
  /** A new set that fits is on disk. */
  readonly onChange?: (set: CertificateSet) => void;
  /** The files changed into something unusable; the set before it stays in force. Called once per change. */
  readonly onProblem?: (error: DrawbridgeError) => void;
  /** Runs `tick` again and again until the returned function is called. Tests give their own. */
  readonly every?: (intervalMs: number, tick: () => void) => () => void;
}

/**
 * Certificates that may be replaced on disk while the process runs. The constructor reads them and throws when they
 * cannot be used; later changes arrive through `onChange`.
 *
 * Files are polled, not watched: Kubernetes swaps a `..data` link above the files, which fs.watch on a file never sees.
 */
export class CertificateFiles {
  #set: CertificateSet;
  #seen: string;
  readonly #paths: CertificatePaths;
  readonly #options: ReloadOptions;
  readonly #stop: () => void;

  constructor(paths: CertificatePaths, options: ReloadOptions = {}) {
    this.#paths = paths;
    this.#options = options;
    // Taken before reading: a change in between is then noticed by the first check.
    this.#seen = fingerprint(paths);
    this.#set = readCertificateSet(paths);
    this.#stop = (options.every ?? unrefInterval)(options.intervalMs ?? 5000, () => {
      this.check();
    });
  }

  /** The newest set that fits. */
  get current(): CertificateSet {
    return this.#set;
  }

  /** Looks at the files now; true when a new set came into force. */
  check(): boolean {
    const before = fingerprint(this.#paths);
    if (before === this.#seen) return false;
    let next: CertificateSet | undefined;
    let problem: DrawbridgeError | undefined;
    try {
      next = readCertificateSet(this.#paths);
    } catch (reason) {
      if (!(reason instanceof DrawbridgeError)) throw reason;
      problem = reason;
    }
    // Files that moved while being read may be a mixture of old and new: judge them at the next look.
    if (fingerprint(this.#paths) !== before) return false;
    this.#seen = before;
    if (problem !== undefined) {
      this.#options.onProblem?.(problem);
      return false;
    }
    if (sameSet(next!, this.#set)) return false;
    this.#set = next!;
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
function fingerprint({ certFile, keyFile, caFile }: CertificatePaths): string {
  return [certFile, keyFile, caFile]
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

function sameSet(a: CertificateSet, b: CertificateSet): boolean {
  return a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
