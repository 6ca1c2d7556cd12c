/** The settings of the proxy-server and of the kube-apiserver of this host: of the process itself, or of what starts it. */
import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename, posix } from "node:path";
import { parse } from "yaml";
import { at, listOf } from "../../../base/at.js";
import type { PodContainer } from "../../kube/pods.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { BridgeModel } from "../model/model.js";

/** Gives the command of each process that shares this host's network, as both ends of the bridge do. */
export type Processes = () => Promise<readonly (readonly string[])[]>;

export const hostProcesses: Processes = async () => (await networkProcesses()).map(({ words }) => words);

export interface NetworkProcess {
  readonly pid: number;
  readonly words: readonly string[];
}

/** The processes that share this process' network; none where /proc cannot be read. */
export async function networkProcesses(): Promise<NetworkProcess[]> {
  const [own, ownTable] = await Promise.all([networkOf("self"), networkTableOf("self")]);
  const pids = own === undefined ? [] : await hostPids();
  const processes = await Promise.all(
    pids.map(async (pid) => {
      const network = await networkOf(pid);
      const isOurs = network === undefined ? (await networkTableOf(pid)) === ownTable : network === own;
      return { pid, words: isOurs ? await wordsOf(pid) : [] };
    }),
  );
  return processes.filter(({ words }) => words.length > 0);
}

/** Undefined of another user's process. */
const networkOf = (pid: number | "self"): Promise<string | undefined> =>
  readlink(`/proc/${pid}/ns/net`).catch(() => undefined);

/** Each network has tables of its own, whose numbers everybody may see. */
const networkTableOf = (pid: number | "self"): Promise<number> =>
  stat(`/proc/${pid}/net/dev`).then(
    ({ ino }) => ino,
    () => -1,
  );

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
 * Undefined when nothing on this host shows it. `sockets` are the names the server may know its socket by; unless one of
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

/** The flags that a program was, or will be, started with, wherever they are written down. */

export interface CommandLine {
  /** Where it was read, for people. */
  readonly source: string;
  /** By name without dashes. */
  readonly flags: ReadonlyMap<string, string>;
}

/** Of a flag that is given twice the last value counts. */
export function commandLine(source: string, words: readonly string[]): CommandLine {
  const flags = new Map<string, string>();
  for (const [index, word] of words.entries()) {
    const [, name, value] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) continue;
    const next = words[index + 1];
    flags.set(name, value ?? (next === undefined || next.startsWith("-") ? "true" : next));
  }
  return { source, flags };
}

/** `proxy-server ...`, `node .../proxy-server ...`, `drawbridge server ...` */
export function isProxyServer(words: readonly string[]): boolean {
  const names = words.slice(0, 3).map((word) => basename(word));
  return names.includes("proxy-server") || names.some((name, i) => name === "drawbridge" && names[i + 1] === "server");
}

/** `kube-apiserver ...`, `hyperkube kube-apiserver ...` */
export function isApiServer(words: readonly string[]): boolean {
  return words.slice(0, 2).some((word) => basename(word) === "kube-apiserver");
}

export function roleOf({ name = "", command = [], args = [] }: PodContainer): "server" | "agent" | undefined {
  const program = basename(command[0] ?? args[0] ?? "");
  if (program === "proxy-server" || name === "konnectivity-server") return "server";
  return program === "proxy-agent" || name === "konnectivity-agent" ? "agent" : undefined;
}

/** Command and arguments of a pod's first container. */
export function containerWords(pod: unknown): string[] {
  const container = at(pod, "spec", "containers", 0);
  return [...listOf(at(container, "command")), ...listOf(at(container, "args"))].map(String);
}

/** The words of a systemd unit's ExecStart, as our own unit writes them; undefined when it has none. */
export function unitWords(unit: string): string[] | undefined {
  const command = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit)?.[1];
  return command
    ?.replaceAll("\\\n", " ")
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => word.replace(/^"|"$/g, "").replaceAll("%%", "%").replaceAll("$$", "$"));
}

/** Undefined when the file is missing or cannot be read. */
export async function textAt(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/** Undefined for what is not YAML text. */
export function yamlOf(text: unknown): unknown {
  try {
    return typeof text === "string" ? parse(text) : undefined;
  } catch {
    return undefined;
  }
}
