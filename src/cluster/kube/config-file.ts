import { readFile } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";

export function configError(sentence: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_KUBECONFIG", sentence, { cause });
}

/** `what` names the file's role, as in "the token file /x/token cannot be read: ...". */
export async function readConfigFile(what: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (reason) {
    throw configError(`The ${what} ${file} cannot be read: ${messageOf(reason)}`, reason);
  }
}

/** A token is sent in a header; the newline that editors and `echo` leave behind must not be. */
export async function readTokenFile(file: string): Promise<string> {
  const token = (await readConfigFile("token file", file)).trim();
  if (token === "") throw configError(`The token file ${file} is empty.`);
  return token;
}
