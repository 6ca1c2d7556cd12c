/** Is the kube-apiserver's way in there, closed to strangers, and does it speak what the kube-apiserver will speak? */
import type { Stats } from "node:fs";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { joinHostPort } from "../../../../base/address.js";
import { type Check, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { DialRefusedError, dialThrough, type Frontend } from "../../../../tunnel/client/index.js";
import type { Bridge } from "../bridge.js";

export function frontDoorChecks(bridge: Bridge): Check[] {
  return [
    {
      id: "socket",
      title: "The server's socket is there and closed to others",
      run: (signal) => socket(bridge, signal),
    },
    {
      id: "front-door",
      title: "The server speaks the kube-apiserver's protocol",
      run: (signal) => spoken(bridge, signal),
    },
  ];
}

/** srwxrwx---, as upstream's server makes it. */
const SOCKET_MODE = 0o770;

async function socket({ frontend, model }: Bridge, signal: AbortSignal): Promise<Outcome> {
  if (!("uds" in frontend)) return skip(`the front door is ${where(frontend)}, not a socket`);
  const path = frontend.uds;
  let found: Stats;
  try {
    found = await stat(path);
  } catch (reason) {
    const remedy = `Start the server with --uds-name=${model.paths.socket.server}, or give the socket's path with --uds.`;
    const absent = (reason as NodeJS.ErrnoException).code === "ENOENT";
    return fail(absent ? `${path} does not exist` : messageOf(reason), remedy);
  }
  if (!found.isSocket()) {
    return fail(`${path} is not a socket`, `Move it away and start the server anew, which makes the socket itself.`);
  }
  const mode = found.mode & 0o777;
  const shown = `${path} is ${symbolic(mode)}`;
  if ((mode & 0o007) !== 0) {
    const remedy = `chmod 0770 ${path}, and start the server with a umask of 007: whoever opens it reaches every pod.`;
    return fail(`${shown}: every user of this host may use it`, remedy);
  }
  if (mode !== SOCKET_MODE) {
    return fail(`${shown}, not srwxrwx---`, `chmod 0770 ${path}, or a kube-apiserver that is not its owner stays out.`);
  }
  const refusal = await knock(path, signal);
  if (refusal === undefined) return pass(shown);
  return fail(`${shown}, but nobody listens: ${refusal}`, "Start the server; this socket is left from an earlier one.");
}

function symbolic(mode: number): string {
  const letters = [..."rwxrwxrwx"].map((letter, index) => ((mode >> (8 - index)) & 1 ? letter : "-"));
  return `s${letters.join("")}`;
}

/** Why nobody opens; undefined when somebody does. */
function knock(path: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const door = connect({ path, signal });
    door.once("connect", () => resolve(undefined));
    door.once("error", (reason) => resolve(reason.message));
    door.once("connect", () => door.destroy());
  });
}

/** Nothing listens there in any sane network; the answer tells the protocol all the same, and needs no agent. */
const NOWHERE = "127.0.0.1:1";
const WAIT_MS = 5_000;

async function spoken({ frontend, egress }: Bridge, signal: AbortSignal): Promise<Outcome> {
  const protocol = frontend.mode === "grpc" ? "GRPC" : "HTTPConnect";
  const shown = `${where(frontend)} speaks ${protocol}`;
  try {
    (await dialThrough(frontend, NOWHERE, { signal, timeoutMs: WAIT_MS })).destroy();
    return pass(shown);
  } catch (reason) {
    // Any answer in the right protocol will do, also a no.
    if (reason instanceof DialRefusedError && reason.code !== "DB_PEER_PROTOCOL") return pass(shown);
    if (reason instanceof DrawbridgeError && reason.code === "DB_AGENT_LOST") return pass(shown);
    if (isClosed(reason)) {
      const remedy = "Start the server, or give its door with --uds or --frontend (see the check socket).";
      return fail(`${where(frontend)} is closed: ${messageOf(reason)}`, remedy);
    }
    const wish = egress.state === "read" ? `${egress.path} says ${egress.cluster.protocol}` : `${protocol} is expected`;
    const other = frontend.mode === "grpc" ? "http-connect" : "grpc";
    const remedy =
      `Start the server with --mode=${frontend.mode} (${wish}), or change the proxyProtocol there and restart the ` +
      `kube-apiserver; --protocol=${other} asks this check the other way.`;
    return fail(`${where(frontend)} does not answer in ${protocol}: ${messageOf(reason)}`, remedy);
  }
}

function isClosed(reason: unknown): boolean {
  const { code } = ((reason as Error).cause ?? {}) as NodeJS.ErrnoException;
  return ["ENOENT", "ECONNREFUSED", "EACCES", "EHOSTUNREACH", "ETIMEDOUT"].includes(code ?? "");
}

function where(frontend: Frontend): string {
  return "uds" in frontend ? frontend.uds : joinHostPort(frontend.host, frontend.port);
}
