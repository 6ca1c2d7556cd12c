import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { command } from "../image/command.js";
import { about, root } from "../image/project.js";
import { licencesOfBundle } from "./licences.js";

/** What `npm install` takes. Fails when publint has anything to say about it. */
export async function packTarball(folder: string): Promise<string> {
  writeFileSync(join(root, "dist", "licences.txt"), licencesOfBundle());
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  const { code, stderr } = await command("npm", args, root);
  if (code !== 0) throw new Error(`npm pack failed: ${stderr.trim()}`);
  const path = join(folder, `${about.name}-${about.version}.tgz`);
  await lint(path);
  return path;
}

async function lint(path: string): Promise<void> {
  const bytes = readFileSync(path);
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
  if (messages.length === 0) return;
  const sentences = messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code);
  throw new Error(`publint finds fault with the tarball: ${sentences.join(" ")}`);
}
