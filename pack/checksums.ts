import { createHash } from "node:crypto";
import { createReadStream, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

export const CHECKSUMS = "SHA256SUMS";

/** Writes the file that `sha256sum --check` reads, about everything else in the folder. */
export async function writeChecksums(folder: string): Promise<void> {
  const lines = [];
  for (const name of readdirSync(folder).sort()) {
    if (name === CHECKSUMS) continue;
    const hash = createHash("sha256");
    await pipeline(createReadStream(join(folder, name)), hash);
    lines.push(`${hash.digest("hex")}  ${name}\n`);
  }
  writeFileSync(join(folder, CHECKSUMS), lines.join(""));
}
