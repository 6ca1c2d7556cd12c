/** Ports dialled as their clients dial them; nothing is asked of them. */
import type { X509Certificate } from "node:crypto";
import { connect } from "node:net";
import { createSecureContext } from "node:tls";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { greetFrontend } from "../../../tunnel/client/transport.js";
import { connected } from "../../../tunnel/outgoing/connected.js";
import { DialFailure, explainConnect } from "../../../tunnel/outgoing/explain.js";
import { secure } from "../../../tunnel/outgoing/secure.js";

/** A server's frontend, as a sidecar gets it. */
export async function dialAsClient(frontend: Frontend) {
  const where = describeFrontend(frontend);
  try {
    await greetFrontend(frontend, AbortSignal.timeout(PATIENCE_MS));
    return { frontend, where };
  } catch (failure) {
    const late = `cannot connect to ${where}: no answer within ${PATIENCE_MS / 1000} s.`;
    const isLate = (failure as Error).name === "TimeoutError";
    return { frontend, where, failure: isLate ? new DrawbridgeError("DB_CONNECT_TIMEOUT", late) : failure };
  }
}

const PATIENCE_MS = 10_000;

/** The certificate that a port shows to whoever comes. Who comes trusts other authorities than this host. */
export async function certificateAt(host: string, port: number): Promise<ShownCertificate> {
  const where = joinHostPort(host, port);
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  const dial = { where, name: host, context: createSecureContext(), alpn: ["http/1.1"] };
  const credentials = () => ({ self: "doctor", set: {}, admittedBy: "CA file" });
  try {
    const socket = await connected(connect({ host, port }), "connect", deadline, (why) => explainConnect(where, why));
    const secured = await secure({ ...dial, socket, credentials }, deadline);
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
