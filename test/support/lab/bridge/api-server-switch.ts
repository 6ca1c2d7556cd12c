import { createServer, type Server } from "node:http";
import type { BridgeLab } from "./lab.js";

/**
 * What an administrator's own restart script is to `up` and `teardown`: two shell commands that start the bootstrap
 * kube-apiserver again, with and without the flag. The lab owns that process, so the commands knock at a socket of ours.
 */
export class ApiServerSwitch {
  readonly applyCommand: string;
  readonly restoreCommand: string;
  /** When (performance.now) the kube-apiserver was last ready after a restart. */
  readyAt = 0;
  readonly #lab: BridgeLab;

  private constructor(lab: BridgeLab, socket: string) {
    this.#lab = lab;
    const knock = `curl --silent --show-error --fail --max-time 120 --unix-socket ${socket} --data-binary`;
    this.applyCommand = `${knock} "$EGRESS_FLAG" http://lab/`;
    this.restoreCommand = `${knock} "" http://lab/`;
  }

  static async make(lab: BridgeLab, socket: string): Promise<ApiServerSwitch> {
    const made = new ApiServerSwitch(lab, socket);
    const server = createServer(async (request, response) => {
      let flag = "";
      for await (const chunk of request.setEncoding("utf8")) flag += chunk;
      try {
        await made.#restart(flag);
        response.end();
      } catch (reason) {
        response.writeHead(500).end(String(reason));
      }
    });
    lab.scope.defer(() => closed(server));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    return made;
  }

  async #restart(flag: string): Promise<void> {
    await this.#lab.bs.apiServer.start(flag === "" ? undefined : flag.slice(flag.indexOf("=") + 1));
    this.readyAt = performance.now();
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
