/** The program of a thread in one file, with at most one planted bug. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { bundling } from "../../scripts/bundling.mjs";
import { type Mutant, planted } from "../mutants/mutant.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Files of the threads of one run; gone with the process. */
export class Bundles {
  readonly #entry: string;
  readonly #folder = mkdtempSync(join(tmpdir(), "drawbridge-sim-"));
  #count = 0;

  /** `entry` calls serve(). */
  constructor(entry: string) {
    this.#entry = entry;
    process.once("exit", () => this.remove());
  }

  /** Throws a sentence when the bug does not fit the source any more, or the simulation does not have that file. */
  async make(mutant?: Mutant): Promise<string> {
    const outfile = join(this.#folder, `${++this.#count}.mjs`);
    const planting = mutant && new Planting(mutant);
    await build({
      ...bundling,
      plugins: [...(bundling.plugins ?? []), ...(planting === undefined ? [] : [planting.plugin])],
      entryPoints: [this.#entry],
      outfile,
      format: "esm",
      sourcemap: "inline",
      // Some dependencies are CommonJS and call require() for Node's own modules.
      banner: {
        js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
      },
    });
    if (planting?.isDone === false)
      throw new Error(`the bug ${mutant!.name} is in ${mutant!.file}, which no simulated world uses.`);
    return outfile;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

class Planting {
  isDone = false;
  readonly plugin: Plugin;

  constructor(mutant: Mutant) {
    const file = resolve(ROOT, mutant.file);
    const contents = planted(mutant, readFileSync(file, "utf8"));
    this.plugin = {
      name: "mutant",
      setup: ({ onLoad }) => {
        onLoad({ filter: /\.ts$/ }, ({ path }) => {
          if (path !== file) return undefined;
          this.isDone = true;
          return { contents, loader: "ts" };
        });
      },
    };
  }
}
