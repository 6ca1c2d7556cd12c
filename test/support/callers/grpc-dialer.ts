import { connect, type Socket } from "node:net";
import { START_WITHIN_MS, within } from "../processes/deadline.js";
import { type RunningProcess, startProcess } from "../processes/process.js";
import type { Scope } from "../processes/scope.js";
import { readLine } from "./bytes.js";

/** Upstream's client library (the one in kube-apiserver), behind a small line protocol: peers/konnectivity/grpc-dialer. */
export interface GrpcDialer {
  readonly process: RunningProcess;
  /** The tunnel, or the library's error text. */
  dial(target: string, withinMs?: number): Promise<Socket | string>;
}

export async function startGrpcDialer(
  scope: Scope,
  executable: string,
  udsPath: string,
  flags: readonly string[] = [],
): Promise<GrpcDialer> {
  const args = ["--uds", udsPath, "--listen", "127.0.0.1:0", ...flags];
  const process = scope.use(startProcess({ name: "grpc-dialer", command: executable, args }));
  const [, port] = await process.log.waitFor(/listening 127\.0\.0\.1:(\d+)/, START_WITHIN_MS);
  return {
    process,
    async dial(target, withinMs = 20_000) {
      const socket = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true });
      const connected = new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
      await within(20_000, "a connection to grpc-dialer", connected);
      socket.on("error", () => {});
      socket.write(`${target}\n`);
      try {
        const answer = await readLine(socket, withinMs);
        if (answer === "OK") return socket;
        socket.destroy();
        return answer.replace(/^ERR /, "");
      } catch (reason) {
        socket.destroy();
        throw reason;
      }
    },
  };
}
