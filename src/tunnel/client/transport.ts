/** The connection to a front door, before anything is said on it. */
import net, { isIP, type Socket } from "node:net";
import tls from "node:tls";
import { step } from "./bounds.js";
import { frontendUnreachable } from "./errors.js";
import { describeFrontend, type Frontend } from "./frontend.js";
import { secureContextOf } from "./secure-context.js";

/** A dead server is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectFrontend(
  frontend: Frontend,
  options: { readonly alpn: readonly string[]; readonly allowHalfOpen: boolean },
  stop: AbortSignal,
): Promise<Socket> {
  const { allowHalfOpen } = options;
  const where = describeFrontend(frontend);
  if ("uds" in frontend) {
    return await connected(net.connect({ path: frontend.uds, allowHalfOpen }), "connect", where, stop);
  }
  const secureContext = secureContextOf(frontend.tls);
  const { host, port } = frontend;
  const { servername = isIP(host) === 0 ? host : undefined } = frontend.tls;
  // A TLS socket is half-open only when the socket below it is.
  const socket = await connected(net.connect({ host, port, allowHalfOpen }), "connect", where, stop);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  const secured = tls.connect({
    secureContext,
    socket,
    host,
    ...(servername === undefined ? {} : { servername }),
    ...(options.alpn.length === 0 ? {} : { ALPNProtocols: [...options.alpn] }),
  });
  return await connected(secured, "secureConnect", where, stop);
}

/** From here on somebody always listens to the socket's errors: one that nobody expects must not end the process. */
async function connected<T extends Socket>(socket: T, event: string, where: string, stop: AbortSignal): Promise<T> {
  socket.on("error", () => {});
  try {
    return await step<T>(stop, (resolve, reject) => {
      const onReady = (): void => resolve(socket);
      const onError = (error: Error): void => reject(frontendUnreachable(where, error));
      const onClose = (): void => reject(frontendUnreachable(where, "it hung up"));
      socket.once(event, onReady).once("error", onError).once("close", onClose);
      return () => socket.off(event, onReady).off("error", onError).off("close", onClose);
    });
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}
