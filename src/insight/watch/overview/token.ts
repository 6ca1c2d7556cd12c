/** The token that opens the page: made once, kept in a file that only its owner can read, and never printed. */
import { randomBytes } from "node:crypto";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { createFile, makeDirectory } from "../../../base/files.js";
import { TokenFile } from "../../../base/token-file.js";

export function defaultTokenFile(env: Readonly<Record<string, string | undefined>>): string {
  const base = env.XDG_STATE_HOME?.startsWith("/") ? env.XDG_STATE_HOME : join(homedir(), ".local", "state");
  return join(base, "drawbridge", "page-token");
}

const REMEDY =
  "Name with --token-file a file that this user can make, or one with one line, a long random token, that this user can read.";

/** Resolves to whether it was made now. Throws DB_ADMIN_TOKEN_FILE. */
export async function keepToken(path: string): Promise<boolean> {
  const isNew = await makeToken(path);
  // A fault of a file that was there is better reported now than in the browser.
  await new TokenFile(path, REMEDY).digest();
  return isNew;
}

async function makeToken(path: string): Promise<boolean> {
  try {
    await makeDirectory(dirname(path), 0o700);
    await createFile(path, `${randomBytes(32).toString("hex")}\n`, 0o600);
    return true;
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "EEXIST") return false;
    const sentence = `The token file ${path} cannot be made: ${messageOf(reason)}.`;
    throw new DrawbridgeError("DB_ADMIN_TOKEN_FILE", sentence, { cause: reason, remedy: REMEDY });
  }
}
