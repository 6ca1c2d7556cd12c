/** `npm run pack`: makes every form in which drawbridge is shipped. */
import { statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../image/project.js";
import { pack } from "./pack.js";

const DEFAULT_OUT = "out";

const HELP = `Makes the npm package, the single executable, the container image, their bill of materials and checksums.

Usage:
  npm run pack -- [flags]

Flags:
  -h, --help         this text
      --out string   folder to write to; what was packed into it before is replaced (default "${DEFAULT_OUT}")

docs/install.md says what each of them is for. Executable and image are for Linux on amd64, and the image needs Debian.
`;

async function main(args: readonly string[]): Promise<void> {
  const { help, out } = parse(args);
  if (help) return void process.stdout.write(HELP);
  const say = (line: string) => process.stdout.write(`pack: ${line}\n`);
  const files = await pack(out ?? join(root, DEFAULT_OUT), say);
  for (const file of files) say(`${(statSync(file).size / 1e6).toFixed(1).padStart(7)} MB  ${basename(file)}`);
  say(dirname(files[0]!));
}

function parse(args: readonly string[]): { help?: boolean; out?: string } {
  try {
    return parseArgs({ args: [...args], options: { help: { type: "boolean", short: "h" }, out: { type: "string" } } })
      .values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message.split(". ")[0]}; --help lists the flags.\n`);
    process.exit(2);
  }
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
