import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropGuard, guardAgainstInterruption } from "./interruption.js";
import { markForRemoval } from "./sweep.js";

/** Leaves logs and configuration behind for a look. */
const isKept = process.env.DRAWBRIDGE_LAB_KEEP === "1";
const openScopes = new Set<Scope>();

type Undo = () => void | Promise<void>;

/**
 * Everything a lab made, undone in reverse order by close(). When the test process ends before that, its processes die
 * with it (process.ts), namespaces go in netns' exit handler, and the folder goes in the one here.
 */
export class Scope {
  readonly folder: string;
  readonly #undo: Undo[] = [];
  readonly #onExit = () => this.#removeFolder();

  constructor(label: string) {
    this.folder = mkdtempSync(join(tmpdir(), `db-${process.pid}-${label}-`));
    if (!isKept) markForRemoval(this.folder);
    process.once("exit", this.#onExit);
    if (openScopes.size === 0) guardAgainstInterruption();
    openScopes.add(this);
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  defer(undo: Undo): void {
    this.#undo.push(undo);
  }

  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const undo of this.#undo.splice(0).reverse()) {
      try {
        await undo();
      } catch (error) {
        failures.push(error);
      }
    }
    this.#removeFolder();
    process.off("exit", this.#onExit);
    if (openScopes.delete(this) && openScopes.size === 0) dropGuard();
    if (failures.length > 0) throw new AggregateError(failures, `the lab was not taken down cleanly: ${failures}`);
  }

  #removeFolder(): void {
    if (isKept) return;
    // Killed processes of a node may need a moment to let go of their files.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
