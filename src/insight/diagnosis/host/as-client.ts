/** A server's frontend, dialled as a sidecar dials it; nothing is asked of it. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { greetFrontend } from "../../../tunnel/client/transport.js";

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
