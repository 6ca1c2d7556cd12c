import type { ListenOptions, Server } from "node:net";
import { listenError } from "../errors/listen-error.js";

/** Callers come in bursts when a kube-apiserver starts; the kernel's default queue would turn some away. */
const BACKLOG = 4096;

/** Resolves once the server accepts connections. */
export function listenOn(server: Server, what: string, where: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException): void => {
      const address = where.path ?? `${where.host ?? "*"}:${where.port}`;
      reject(listenError(what, address, cause));
    };
    server.once("error", onError);
    server.listen({ ...where, backlog: BACKLOG }, () => {
      server.off("error", onError);
      // Accept errors (no descriptors left, say) are that caller's loss, not the process's.
      server.on("error", () => {});
      resolve();
    });
  });
}
