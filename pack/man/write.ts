/** `npm run build` runs this: the man pages, into the folder that is named. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manPages } from "./pages.js";

const [, , folder = ""] = process.argv;
mkdirSync(folder, { recursive: true });
for (const [file, text] of await manPages()) writeFileSync(join(folder, file), text);
