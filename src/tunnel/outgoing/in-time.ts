/** Connections that have to come about in a time that is given, which is named when it is over. */
import type { Socket, TcpNetConnectOpts } from "node:net";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { BY_NAME } from "../resolver/lookup.js";
import { connected } from "./connected.js";
import { connectTimeout, explainConnect, handshakeTimeout } from "./explain.js";
import { type SecureDial, type Secured, secure } from "./secure.js";

/** Whoever gives up for another reason gets that reason back. */
const isLate = ({ aborted, reason }: AbortSignal): boolean => aborted && (reason as Error).name === "TimeoutError";

/** `where` is what errors call it; the time of `stop` is `ms`. */
export async function tcpInTime(
  to: TcpNetConnectOpts,
  where: string,
  stop: AbortSignal,
  ms: number,
  runtime: Runtime = systemRuntime,
): Promise<Socket> {
  try {
    return await connected(runtime.connect({ ...BY_NAME, ...to }), "connect", stop, (why) =>
      explainConnect(where, why),
    );
  } catch (reason) {
    throw isLate(stop) ? connectTimeout(where, ms) : reason;
  }
}

export async function secureInTime(dial: SecureDial, stop: AbortSignal): Promise<Secured> {
  try {
    return await secure(dial, stop);
  } catch (reason) {
    throw isLate(stop) ? handshakeTimeout(dial.where) : reason;
  }
}
