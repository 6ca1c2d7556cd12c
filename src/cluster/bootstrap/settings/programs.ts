/** The settings of the proxy-server and of the kube-apiserver of this host: of the process itself, or of what starts it. */
import { readdir, readFile, readlink } from "node:fs/promises";
import { posix } from "node:path";
import { at, listOf } from "../../../base/at.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { BridgeModel } from "../model/model.js";
import {
  type CommandLine,
  commandLine,
  containerWords,
  isApiServer,
  isProxyServer,
  textAt,
  unitWords,
  yamlOf,
} from "./command-line.js";

/** Gives the command of each process that shares this host's network, as both ends of the bridge do. */
export type Processes = () => Promise<readonly (readonly string[])[]>;

export const hostProcesses: Processes = async () => (await networkProcesses()).map(({ words }) => words);

export interface NetworkProcess {
  readonly pid: number;
  readonly words: readonly string[];
}

/** The processes that share this process' network; none where /proc cannot be read. */
export async function networkProcesses(): Promise<NetworkProcess[]> {
  const own = await readlink("/proc/self/ns/net").catch(() => undefined);
  const pids = own === undefined ? [] : await hostPids();
  const processes = await Promise.all(
    pids.map(async (pid) => {
      const network = await readlink(`/proc/${pid}/ns/net`).catch(() => undefined);
      return { pid, words: network === own ? await wordsOf(pid) : [] };
    }),
  );
  return processes.filter(({ words }) => words.length > 0);
}

export async function hostPids(): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  return names.filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Empty when the process has ended or cannot be read. */
export async function wordsOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return text.split("\0").slice(0, -1);
}

/**
 * Undefined when nothing on this host tells. `sockets` are the names the server may know its socket by; unless one of
 * them was `given`, a host's only server is taken for the one that is meant, so that a wrong socket is noticed.
 */
export async function serverSettings(
  { paths }: BridgeModel,
  sockets: readonly string[],
  given: boolean,
  processes: Processes,
): Promise<CommandLine | undefined> {
  const running = (await processes())
    .filter(isProxyServer)
    .map((words) => commandLine("the running proxy-server", words));
  const ours = running.find(({ flags }) => sockets.includes(flags.get("uds-name") ?? ""));
  if (ours !== undefined) return ours;
  if (running.length === 1 && !given) return running[0];
  const pod = await textAt(paths.staticPod);
  if (pod !== undefined) return commandLine(paths.staticPod, containerWords(yamlOf(pod)));
  const unit = await textAt(paths.unit);
  return unit === undefined ? undefined : commandLine(paths.unit, unitWords(unit) ?? []);
}

export interface ApiServerSettings {
  /** What is in force. */
  readonly running: CommandLine | undefined;
  /** What will be in force after a restart. */
  readonly manifest: CommandLine | undefined;
}

export async function apiServerSettings(
  model: BridgeModel,
  processes: Processes,
  api: KubeApi | undefined,
  signal: AbortSignal,
): Promise<ApiServerSettings> {
  const words = (await processes()).find(isApiServer);
  const running = words && (await withOpenShiftConfig(model, commandLine("the running kube-apiserver", words)));
  const manifest = await fromManifest(model);
  if (running !== undefined || manifest !== undefined || api === undefined) return { running, manifest };
  return { running: await fromPod(api, signal), manifest };
}

async function fromManifest(model: BridgeModel): Promise<CommandLine | undefined> {
  const directory = posix.dirname(model.paths.staticPod);
  for (const name of ["kube-apiserver.yaml", "kube-apiserver-pod.yaml"]) {
    const path = posix.join(directory, name);
    const text = await textAt(path);
    if (text !== undefined) return withOpenShiftConfig(model, commandLine(path, containerWords(yamlOf(text))));
  }
  return undefined;
}

/** kubeadm's static pods can be read through the API as well; with several control planes they may differ. */
async function fromPod(api: KubeApi, signal: AbortSignal): Promise<CommandLine | undefined> {
  const options = { labelSelector: "component=kube-apiserver", signal };
  const pods = await api.list<KubeObject>("/api/v1/namespaces/kube-system/pods", options).catch(() => undefined);
  const [pod, other] = pods?.items ?? [];
  if (pod === undefined || other !== undefined) return undefined;
  return commandLine(`pod kube-system/${pod.metadata?.name}`, containerWords(pod));
}

/** OpenShift's kube-apiserver takes its flags from a file, which it knows by the name it has in its container. */
async function withOpenShiftConfig({ paths }: BridgeModel, line: CommandLine): Promise<CommandLine> {
  const file = line.flags.get("openshift-config");
  if (file === undefined) return line;
  const { apiServer, host } = paths.socketDirectory;
  const path = file.startsWith(`${apiServer}/`) ? posix.join(host, file.slice(apiServer.length)) : file;
  const given = at(yamlOf((await textAt(path)) ?? ""), "apiServerArguments");
  const flags = new Map(line.flags);
  for (const [name, values] of Object.entries((given as object | undefined) ?? {})) {
    flags.set(name, String(listOf(values)[0] ?? ""));
  }
  return { source: path, flags };
}
