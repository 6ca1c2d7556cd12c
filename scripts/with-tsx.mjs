// Runs a TypeScript program: node scripts/with-tsx.mjs <file> [arguments]. In this process, so that signals reach the
// program itself, and without tsx's cache, which would stay behind in the temporary folder.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

process.env.TSX_DISABLE_CACHE = "1";
process.argv.splice(1, 1);
const { register } = await import("tsx/esm/api");
register();
await import(pathToFileURL(resolve(process.argv[1])).href);
