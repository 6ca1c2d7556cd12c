import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { command } from "../../image/command.js";
import { fetchNode } from "../../image/node-binary.js";
import { root } from "../../image/project.js";
import { bundling } from "../../scripts/bundling.mjs";

/** Writes the single executable: the image's Node with all of our code inside, compiled beforehand. */
export async function buildExecutable(out: string, say: (line: string) => void): Promise<void> {
  const desk = mkdtempSync(join(tmpdir(), "db-executable-"));
  try {
    const main = "drawbridge.cjs";
    await bundle(join(desk, main));
    const { path: node } = await fetchNode(say);
    const settings = {
      // Node keeps the name as it is given: a whole path would say where it was built.
      main,
      output: resolve(out),
      useCodeCache: true,
      assets: { "page/index.html": join(root, "dist", "page", "index.html") },
      disableExperimentalSEAWarning: true,
    };
    writeFileSync(join(desk, "settings.json"), JSON.stringify(settings));
    // Without --predictable the compiled code would come out different each time.
    const { code, stderr } = await command(node, ["--predictable", "--build-sea", "settings.json"], desk);
    if (code !== 0) throw new Error(`Node could not make the single executable: ${stderr.trim()}`);
  } finally {
    rmSync(desk, { recursive: true });
  }
}

/** As one CommonJS file, which is what Node takes; what is imported lazily is in it, and still waits to be asked for. */
async function bundle(outfile: string): Promise<void> {
  await build({
    ...bundling,
    entryPoints: [join(root, "pack", "executable", "entry.ts")],
    outfile,
    format: "cjs",
    minifyWhitespace: true,
    legalComments: "none",
    // There are no files beside it to be found by import.meta.url; whoever asks learns that from node:sea.
    logOverride: { "empty-import-meta": "silent" },
  });
}
