/** Who may use the admin API: whoever knows the token, and only under a name that is really ours. */
import { isIP } from "node:net";
import { messageOf } from "../errors/error.js";
import { note } from "./channels.js";
import { type Route, sendText } from "./http.js";
import { TokenFile } from "./token-file.js";

export interface GuardOptions {
  /** The server or agent, for notes about an unusable token file. */
  readonly source: object;
  /** Empty: the API stays closed. */
  readonly tokenFile: string;
  /** The host the admin port was bound to; empty for all interfaces. */
  readonly host: string;
}

const CLOSED = "the admin API is closed: start the process with --admin-token-file=<file that holds a bearer token>\n";

/** Answers a function that puts the guard in front of a route. */
export function adminGuard(options: GuardOptions): (route: Route) => Route {
  const tokens = options.tokenFile === "" ? undefined : new TokenFile(options.tokenFile);
  let complained = false;

  return (route) => async (request, response) => {
    // A page in somebody's browser could reach a loopback port under a name of its own (DNS rebinding).
    if (!isOurName(request.message.headers.host, [options.host, request.message.socket.localAddress])) {
      sendText(response, 403, "the admin API answers only to its own address, and the Host header names another\n");
      return;
    }
    if (tokens === undefined) {
      sendText(response, 403, CLOSED);
      return;
    }
    let accepted: boolean;
    try {
      accepted = await tokens.accepts(request.message.headers.authorization);
      complained = false;
    } catch (reason) {
      // Once per trouble: anybody can ask, and nobody should be able to fill the log by asking.
      if (!complained) note.publish({ source: options.source, level: "error", message: messageOf(reason) });
      complained = true;
      sendText(response, 503, "DB_ADMIN_TOKEN_FILE: the admin token file cannot be used; the log says why\n");
      return;
    }
    if (!accepted) {
      sendText(response, 401, "send the admin token as Authorization: Bearer <token>\n", {
        "WWW-Authenticate": 'Bearer realm="drawbridge"',
      });
      return;
    }
    await route(request, response);
  };
}

/** Loopback names always are; otherwise the name bound, or the address the request really came to. */
export function isOurName(hostHeader: string | undefined, names: readonly (string | undefined)[]): boolean {
  const host = hostOf(hostHeader ?? "");
  if (host === "") return false;
  if (host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."))) return true;
  return names.some((name) => name !== undefined && hostOf(bracketed(name)) === host);
}

/** The host of `host:port`, lower case and without brackets. */
function hostOf(hostPort: string): string {
  const host = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(hostPort.toLowerCase());
  const name = host?.[1] ?? host?.[2] ?? "";
  // A dual-stack socket shows IPv4 callers under this prefix.
  return name.replace(/^::ffff:(?=\d+\.)/, "");
}

function bracketed(name: string): string {
  return isIP(name) === 6 ? `[${name}]` : name;
}
