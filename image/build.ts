/** `npm run image`: writes the image that containerd and podman import, without a container engine. */
import { mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { cacheFolder } from "./cache.js";
import { buildImage, DEFAULT_NAME } from "./image.js";

const DEFAULT_OUT = join(cacheFolder(), "image", "drawbridge.tar");

const HELP = `Writes drawbridge's container image as an OCI layout, without a container engine.

Usage:
  npm run image -- [flags]

Flags:
  -h, --help          this text
      --out string    where to: a file that ends with .tar (what containerd and podman import), or a folder
                      (default "${DEFAULT_OUT}")
      --name string   what the image is called (default "${DEFAULT_NAME}")

Node comes from npm, its libraries from Debian packages (image/pins.ts); both are kept in ${cacheFolder()}.
`;

async function main(args: readonly string[]): Promise<void> {
  const options = parse(args);
  if (options.help) return void process.stdout.write(HELP);
  const out = resolve(options.out);
  mkdirSync(dirname(out), { recursive: true });
  const say = (line: string) => process.stdout.write(`image: ${line}\n`);
  const { name, digest, bytes, path } = await buildImage({ out, name: options.name, say });
  say(`${name}, ${Math.round(bytes / 1e6)} MB`);
  say(digest);
  say(path);
  if (path.endsWith(".tar")) say(`import it with: ctr -n k8s.io images import ${path}, or podman load -i ${path}`);
}

function parse(args: readonly string[]): { help: boolean; out: string; name: string } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: "boolean", short: "h", default: false },
        out: { type: "string", default: DEFAULT_OUT },
        name: { type: "string", default: DEFAULT_NAME },
      },
    }).values;
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
