/** Which process a command asks, and with which token. */
import { readFile } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { isOurName } from "../../insight/observe/admin/own-name.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";

export type AdminPortFlags = ReturnType<typeof addAdminPortFlags>;

// The return type is inferred: one entry a flag.
export function addAdminPortFlags(set: FlagSet) {
  return {
    admin: set.add(
      "admin",
      string,
      "http://127.0.0.1:8095",
      "Admin port of the process; a server's is 8095, an agent's 8094. https beyond loopback.",
    ),
    tokenFile: set.add(
      "token-file",
      string,
      process.env.DRAWBRIDGE_ADMIN_TOKEN_FILE ?? "",
      "File with the admin token: the process' own --admin-token-file. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE.",
    ),
    caFile: set.add(
      "ca-file",
      string,
      "",
      "Who signed the admin port's certificate. If empty, the system's authorities.",
    ),
  };
}

/** Throws what runRole takes for misuse. */
export function checkAdminUrl(admin: string): void {
  const url = URL.canParse(admin) ? new URL(admin) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw refused("--admin must be a URL such as http://127.0.0.1:8095, without a user or a password");
  // The process would refuse it, but not before it, and everybody on the way, had read the token.
  if (url.protocol === "http:" && !isOurName(url.host, []))
    throw refused("--admin must be https beyond loopback: the token would be sent in the clear");
}

export function checkAdminPortFlags({ admin, tokenFile }: AdminPortFlags): void {
  checkAdminUrl(admin.value);
  if (tokenFile.value === "") throw refused("--token-file must name the file of the process' --admin-token-file");
}

export async function openAdminPort({ admin, tokenFile, caFile }: AdminPortFlags): Promise<AdminPort> {
  const { AdminPort } = await import("../../insight/watch/admin-port.js");
  const token = (await read(tokenFile.value)).trim();
  const ca = caFile.value === "" ? undefined : await read(caFile.value);
  return new AdminPort({ url: new URL(admin.value), token, ca });
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw new DrawbridgeError("DB_FLAG_VALUE", `${path} cannot be read: ${messageOf(reason)}`, { cause: reason });
  }
}
