import { readFileSync } from "node:fs";
import * as objects from "../objects.js";
import { LabProcess } from "../process.js";
import type { Scope } from "../scope.js";
import type { ApiHost } from "./lab.js";

interface Kubeconfig {
  readonly clusters: [{ readonly cluster: { readonly server: string; readonly "certificate-authority": string } }];
  readonly users: [{ readonly user: { readonly "client-certificate": string; readonly "client-key": string } }];
}

export interface WritesCount {
  readonly admitted: number;
  /** The kube-apiserver was away. */
  readonly unanswered: number;
  /** Everything else, in the kube-apiserver's words. */
  readonly failed: readonly string[];
}

/**
 * One write after the other, without pause, each past a webhook that must answer (failurePolicy Fail). Dry runs: webhooks
 * are asked all the same, and nothing piles up.
 */
export class Writes {
  readonly #process: LabProcess;

  private constructor(running: LabProcess) {
    this.#process = running;
  }

  static begin(scope: Scope, name: string, { netns, adminConfig }: ApiHost, hook: string): Writes {
    const config = JSON.parse(readFileSync(adminConfig, "utf8")) as Kubeconfig;
    const [{ cluster }, { user }] = [config.clusters[0], config.users[0]];
    const url = `${cluster.server}/api/v1/namespaces/${objects.NAMESPACE}/configmaps?dryRun=All`;
    const curl = [
      ...["curl", "-s", "--max-time", "10", "--cacert", cluster["certificate-authority"]],
      ...["--cert", user["client-certificate"], "--key", user["client-key"], "-H", "Content-Type: application/json"],
      ...[
        "-d",
        JSON.stringify(objects.configMap(name, hook)),
        "-o",
        scope.file(`${name}.body`),
        "-w",
        "%{http_code}",
        url,
      ],
    ];
    // One line each: the status, and what was said where it is no success.
    const script = `while :; do code=$("$@"); case $code in
      201) echo 201;; 000) echo 000; sleep 0.05;; *) echo "$code $(tr -d '\\n' <'${scope.file(`${name}.body`)}')";;
    esac; done`;
    return new Writes(LabProcess.start(scope, { name, netns, command: ["bash", "-c", script, name, ...curl] }));
  }

  count(): WritesCount {
    const lines = this.#process.log().split("\n").slice(0, -1);
    const failed = lines.filter((line) => !/^(201|000)$/.test(line));
    const of = (code: string) => lines.filter((line) => line === code).length;
    return { admitted: of("201"), unanswered: of("000"), failed };
  }

  async end(): Promise<WritesCount> {
    await this.#process.kill();
    return this.count();
  }
}
