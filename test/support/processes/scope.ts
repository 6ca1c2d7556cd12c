import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asLastResort } from "./last-resort.js";

/** Everything a test opened, given back in reverse order, also when a step on the way failed. */
export class Scope {
  readonly #cleanups: (() => void | Promise<void>)[] = [];

  defer(cleanup: () => void | Promise<void>): void {
    this.#cleanups.push(cleanup);
  }

  /** Registers something that can be closed and hands it back. */
  use<T extends { close(): void | Promise<void> }>(resource: T): T {
    this.defer(() => resource.close());
    return resource;
  }

  /** A fresh directory, short enough that a socket path below it stays under the 107 bytes a Unix socket may have. */
  tempDir(): string {
    const path = mkdtempSync(join(tmpdir(), "db-"));
    const remove = () => rmSync(path, { recursive: true, force: true });
    const forget = asLastResort(remove);
    this.defer(() => {
      remove();
      forget();
    });
    return path;
  }

  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let cleanup = this.#cleanups.pop(); cleanup; cleanup = this.#cleanups.pop()) {
      try {
        await cleanup();
      } catch (reason) {
        failures.push(reason);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several clean-ups failed");
  }
}
