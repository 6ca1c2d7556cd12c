/** Everybody who plays in the nodes' story: drawbridge's own processes, the cluster, and the folder they share. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { IGNITION_SERVER_NAME } from "../../src/cluster/nodes/install/render.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import { must, run } from "../../test/support/lab/run.js";
import { ours } from "../../test/support/processes/executables.js";
import { freePort } from "../../test/support/processes/ports.js";
import type { Processes, Running } from "../processes/processes.js";
import type { Cluster } from "./cluster.js";
import { PAYLOAD } from "./pool.js";

export interface Booted {
  readonly code: number;
  /** What the machine said on its way. */
  readonly lines: readonly string[];
  readonly result: {
    readonly files: readonly { readonly path: string }[];
    readonly units: number;
    readonly joined?: { readonly certificates: readonly { readonly file: string; readonly request: string }[] };
  };
}

export class NodesFixture {
  readonly folder: string;
  readonly cluster: Cluster;
  readonly ignitionPort: number;
  readonly #processes: Processes;

  private constructor(folder: string, processes: Processes, cluster: Cluster, ignitionPort: number) {
    this.folder = folder;
    this.cluster = cluster;
    this.ignitionPort = ignitionPort;
    this.#processes = processes;
  }

  static async gather(folder: string, processes: Processes, cluster: Cluster): Promise<NodesFixture> {
    writeFileSync(join(folder, "payload.yaml"), PAYLOAD);
    return new NodesFixture(folder, processes, cluster, await freePort());
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** As an administrator. Must succeed; gives what it printed. */
  drawbridge(...args: readonly string[]): Promise<string> {
    return must([ours("drawbridge"), ...args, ...this.cluster.flags()], { timeoutMs: 20_000 });
  }

  #start(name: string, account: string, ...args: readonly string[]): Running {
    return this.#processes.start(name, [ours("drawbridge"), ...args, ...this.cluster.flags(account)]);
  }

  lookAfterPools(): Running {
    return this.#start("controller", CONTROLLER_NAME, "nodepool", "controller", "--issue-certificate");
  }

  /** Ends by itself once it has booted. */
  bootInTheBackground(worker: string, root: string): Running {
    const flags = [this.file(`state/${worker}.ign`), `--root=${this.file(root)}`];
    return this.#processes.start(root, [ours("drawbridge"), "simulate-node", ...flags], { mayFail: true });
  }

  serveIgnition(): Running {
    return this.#start(
      "ignition",
      IGNITION_SERVER_NAME,
      ...["ignition", "serve", `--payload=${this.file("payload.yaml")}`],
      ...[`--addr=127.0.0.1:${this.ignitionPort}`, "--metrics-addr=127.0.0.1:0"],
      ...["--cert-secret=drawbridge-ignition-serving-cert", `--audit-log=${this.file("fetches.jsonl")}`],
    );
  }

  approve(): Running {
    return this.#start(
      "approver",
      APPROVER_NAME,
      ...["csr", "approver"],
      ...["--node-cidr=10.0.0.0/24", `--decision-log=${this.file("decisions.jsonl")}`, "--interval=300ms"],
    );
  }

  /** A machine's first boot, played by simulate-node. */
  async boot(worker: string, root: string, ...more: readonly string[]): Promise<Booted> {
    const { code, stderr, stdout } = await run(
      [
        ...[ours("drawbridge"), "simulate-node", this.file(`state/${worker}.ign`), `--root=${this.file(root)}`],
        ...["--output=json", ...more],
      ],
      { timeoutMs: 25_000 },
    );
    const lines = stderr.trimEnd().split("\n");
    return { code, lines, result: stdout === "" ? { files: [], units: 0 } : JSON.parse(stdout) };
  }

  decisions(): DecisionEntry[] {
    return lines(this.file("decisions.jsonl")).map((line) => JSON.parse(line) as DecisionEntry);
  }

  fetches(): Record<string, string>[] {
    return lines(this.file("fetches.jsonl")).map((line) => JSON.parse(line) as Record<string, string>);
  }
}

function lines(file: string): string[] {
  return readFileSync(file, "utf8").split("\n").filter(Boolean);
}
