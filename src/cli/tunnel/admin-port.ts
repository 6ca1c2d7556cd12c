/** The admin port of another process that a command asks, and the token it shows there. */

import { isOurName } from "../../insight/observe/admin/own-name.js";
import { AdminPort } from "../../insight/watch/admin-port.js";
import { inGroup, text, type Values } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import type { Environment } from "../framework/define.js";
import { readInput } from "../framework/files.js";

export const adminPortFlags = (env: Environment) => ({
  admin: text(
    "Admin port of the process; a server's is 8095, an agent's 8094. It must be https beyond loopback.",
    "http://127.0.0.1:8095",
  ),
  "token-file": text(
    "File with the admin token: the process' own --admin-token-file. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE.",
    env.DRAWBRIDGE_ADMIN_TOKEN_FILE ?? "",
  ),
  ...inGroup("tls", {
    "ca-file": text("CA bundle that signed the admin port's certificate. If empty, the system's authorities."),
  }),
});

type AdminPortFlags = Values<ReturnType<typeof adminPortFlags>>;

export function checkAdminUrl(admin: string): void {
  const url = URL.canParse(admin) ? new URL(admin) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw refused("--admin must be a URL such as http://127.0.0.1:8095, without a user or a password");
  // The process would refuse it, but only after the token was sent in the clear.
  if (url.protocol === "http:" && !isOurName(url.host, []))
    throw refused("--admin must be https beyond loopback: the token would be sent in the clear");
}

export function checkAdminPort({ admin, tokenFile }: AdminPortFlags): void {
  checkAdminUrl(admin);
  if (tokenFile === "") throw refused("--token-file must name the file of the process' --admin-token-file");
}

export async function openAdminPort(flags: AdminPortFlags): Promise<AdminPort> {
  checkAdminPort(flags);
  const token = (await readInput(flags.tokenFile)).toString().trim();
  const ca = flags.caFile === "" ? undefined : (await readInput(flags.caFile)).toString();
  return new AdminPort({ url: new URL(flags.admin), token, ca, caFile: flags.caFile });
}
