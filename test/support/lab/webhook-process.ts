import { fileURLToPath } from "node:url";
import type { Authority } from "./certificates.js";
import { LabProcess } from "./process.js";
import type { Scope } from "./scope.js";

export const WEBHOOK_PORT = 8443;

export interface WebhookRequest {
  readonly path: string;
  /** Source address, as the webhook sees it. */
  readonly from: string;
}

/** The lab's workload, as a process of its own in the namespace of a pod. */
export class Webhook {
  readonly #process: LabProcess;

  private constructor(running: LabProcess) {
    this.#process = running;
  }

  static async start(scope: Scope, name: string, ca: Authority, host: string, netns?: string): Promise<Webhook> {
    const dns = [`${name}.lab.svc`, "localhost"];
    const pair = ca.issue({ file: name, name, use: "server", dns, ips: [host] });
    const program = fileURLToPath(new URL("./webhook/main.ts", import.meta.url));
    const running = LabProcess.start(scope, {
      name,
      netns,
      command: [
        ...([process.execPath, "--import", import.meta.resolve("tsx")] as const),
        ...[program, host, String(WEBHOOK_PORT), pair.cert, pair.key],
      ],
    });
    await running.ready("listening", 60_000, () => running.log().includes("listening"));
    return new Webhook(running);
  }

  requests(path?: string): WebhookRequest[] {
    const lines = this.#process.log().split("\n").slice(0, -1);
    const seen = lines.filter((line) => line.startsWith('{"path"')).map((line) => JSON.parse(line) as WebhookRequest);
    return path === undefined ? seen : seen.filter((request) => request.path === path);
  }
}
