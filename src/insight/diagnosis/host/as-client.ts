/** Ports dialled as their clients dial them. */
import type { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { dialThrough } from "../../../tunnel/client/dial.js";
import { DialRefusedError } from "../../../tunnel/client/errors.js";
import { describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { DialFailure } from "../../../tunnel/outgoing/explain.js";
import { secureInTime, tcpInTime } from "../../../tunnel/outgoing/in-time.js";
import { addressOf } from "../../../tunnel/sidecar/routing/errors.js";
import { AGENT_ITSELF } from "../../../tunnel/wire/destination.js";
import { newProbeDialId } from "../../../tunnel/wire/dial-id.js";

/** A server's frontend, asked for what a sidecar's probe asks: an agent's answer, or the server's for it, shows that it works. */
export async function dialAsClient(frontend: Frontend) {
  const where = describeFrontend(frontend);
  let isReached = false;
  const onFrontend = () => {
    isReached = true;
  };
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const options = { signal, redialMs: 0, onFrontend, dialId: newProbeDialId() };
    (await dialThrough(frontend, addressOf(AGENT_ITSELF), options)).destroy();
    return { frontend, where };
  } catch (failure) {
    if (isAnswered(failure)) return { frontend, where };
    return { frontend, where, failure: (failure as Error).name === "TimeoutError" ? late(where, isReached) : failure };
  }
}

/** The dial got as far as to the server, whatever became of it behind. */
const isAnswered = (failure: unknown): boolean =>
  failure instanceof DrawbridgeError &&
  (failure.code === "DB_AGENT_LOST" || (failure instanceof DialRefusedError && failure.code !== "DB_PEER_PROTOCOL"));

function late(where: string, isReached: boolean): DrawbridgeError {
  const words = `within ${PATIENCE_MS / 1000} s.`;
  return isReached
    ? new DrawbridgeError("DB_DIAL_TIMEOUT", `${where} was reached, but answered no dial ${words}`)
    : new DrawbridgeError("DB_CONNECT_TIMEOUT", `cannot connect to ${where}: no answer ${words}`);
}

const PATIENCE_MS = 10_000;

/** The certificate that a port shows to whoever comes. Who comes trusts other authorities than this host. */
export async function certificateAt(host: string, port: number): Promise<ShownCertificate> {
  const where = joinHostPort(host, port);
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  const dial = { where, name: host, context: createSecureContext(), alpn: ["http/1.1"] };
  const credentials = () => ({ self: "doctor", set: {}, admittedBy: "CA file" });
  try {
    const socket = await tcpInTime({ host, port }, where, deadline, PATIENCE_MS);
    const secured = await secureInTime({ ...dial, socket, credentials }, deadline);
    const [certificate] = secured.facts().peer;
    secured.socket.destroy();
    return { where, certificate };
  } catch (failure) {
    return { where, failure, certificate: failure instanceof DialFailure ? failure.peer[0] : undefined };
  }
}

interface ShownCertificate {
  readonly where: string;
  /** Undefined: it shows none, or is not reached. */
  readonly certificate: X509Certificate | undefined;
  readonly failure?: unknown;
}
