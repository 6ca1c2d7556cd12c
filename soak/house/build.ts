import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));

/** A copy of the executables as built: a build that happens during the run must not exchange them half-way. */
export function copyExecutables(dir: string): string {
  const copy = join(dir, "dist");
  // A build may be renaming the folder at this very moment; the second try meets the new one.
  for (let attempt = 1; ; attempt++) {
    try {
      if (!existsSync(join(dist, "bin/proxy-server"))) throw new Error("dist/bin is missing: run npm run build.");
      for (const part of ["bin", "bundle"]) cpSync(join(dist, part), join(copy, part), { recursive: true });
      return join(copy, "bin");
    } catch (reason) {
      if (attempt === 3) throw reason;
      rmSync(copy, { recursive: true, force: true });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    }
  }
}
