/** What the running kube-apiservers were started with; only that says whether a changed configuration is in force. */
import { basename } from "node:path";
import { apiServerFlag } from "../../model/arguments.js";
import type { BridgeModel } from "../../model/model.js";
import { type Host, type HostProcess, hasFlag } from "../host.js";

export interface RunningApiServers {
  /** Those that use this bridge. */
  readonly using: readonly HostProcess[];
  /** The others. */
  readonly others: readonly HostProcess[];
}

export async function runningApiServers(host: Host, model: BridgeModel): Promise<RunningApiServers> {
  const { name, value } = apiServerFlag(model);
  const processes = await host.processes();
  const using = processes.filter((process) => hasFlag(process, name, value));
  const others = processes.filter((process) => !using.includes(process) && isApiServer(process));
  return { using, others };
}

function isApiServer({ argv: [program = "", first] }: HostProcess): boolean {
  return basename(program) === "kube-apiserver" || (basename(program) === "hyperkube" && first === "kube-apiserver");
}
