/** Everybody who plays in the nodes' story: drawbridge's own processes, the stand-in, and the folder they share. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DecisionEntry } from "../../src/cluster/nodes/csr/decide.js";
import { must, run } from "../../test/support/lab/run.js";
import { ours } from "../../test/support/processes/executables.js";
import { freePort } from "../../test/support/processes/ports.js";
import type { Processes, Running } from "../processes/processes.js";
import { StandInApi } from "./api-server.js";
import { NAMESPACE, PAYLOAD } from "./pool.js";

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
  readonly api: StandInApi;
  readonly ignitionPort: number;
  readonly #processes: Processes;

  private constructor(folder: string, processes: Processes, api: StandInApi, ignitionPort: number) {
    this.folder = folder;
    this.api = api;
    this.ignitionPort = ignitionPort;
    this.#processes = processes;
  }

  static async gather(folder: string, processes: Processes): Promise<NodesFixture> {
    mkdirSync(join(folder, "objects"));
    writeFileSync(join(folder, "payload.yaml"), PAYLOAD);
    return new NodesFixture(folder, processes, await StandInApi.start(join(folder, "objects")), await freePort());
  }

  get objects(): readonly string[] {
    return [`--directory=${this.file("objects")}`, `--namespace=${NAMESPACE}`];
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Must succeed; gives what it printed. */
  drawbridge(...args: readonly string[]): Promise<string> {
    return must([ours("drawbridge"), ...args], { timeoutMs: 20_000 });
  }

  start(name: string, ...args: readonly string[]): Running {
    return this.#processes.start(name, [ours("drawbridge"), ...args]);
  }

  /** Ends by itself once it has booted. */
  bootInTheBackground(worker: string, root: string): Running {
    const flags = [this.file(`state/${worker}.ign`), `--root=${this.file(root)}`];
    return this.#processes.start(root, [ours("drawbridge"), "simulate-node", ...flags], { mayFail: true });
  }

  serveIgnition(): Running {
    return this.start(
      "ignition",
      ...["ignition", "serve", ...this.objects, `--payload=${this.file("payload.yaml")}`],
      ...[`--addr=127.0.0.1:${this.ignitionPort}`, "--metrics-addr=127.0.0.1:0"],
      ...["--cert-secret=drawbridge-ignition-serving-cert", `--audit-log=${this.file("fetches.jsonl")}`],
    );
  }

  approve(): Running {
    return this.start(
      "approver",
      ...["csr", "approver", ...this.objects],
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
