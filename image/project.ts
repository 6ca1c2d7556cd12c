import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The checkout that everything is made from. */
export const root = fileURLToPath(new URL("..", import.meta.url));

export interface About {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

export const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as About;
