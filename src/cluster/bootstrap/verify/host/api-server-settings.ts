/** What the kube-apiserver of this host was told: the running process, the manifest it is started from, or its pod. */
import { posix } from "node:path";
import { at, listOf } from "../../../../base/at.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { BridgeModel } from "../../model/model.js";
import { type CommandLine, commandLine, isApiServer } from "./command-line.js";
import { containerWords, textAt, yamlOf } from "./manifest.js";
import type { Processes } from "./processes.js";

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

/** kubeadm's static pods can be seen through the API as well; with several control planes they may differ. */
async function fromPod(api: KubeApi, signal: AbortSignal): Promise<CommandLine | undefined> {
  try {
    const { items } = await api.list<KubeObject>("/api/v1/namespaces/kube-system/pods", {
      labelSelector: "component=kube-apiserver",
      signal,
    });
    const [pod] = items;
    if (items.length !== 1 || pod === undefined) return undefined;
    return commandLine(`pod kube-system/${pod.metadata?.name}`, containerWords(pod));
  } catch {
    return undefined;
  }
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
