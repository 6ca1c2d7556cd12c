/** What the proxy-server of this host was told, from the process itself or from what starts it. */
import type { BridgeModel } from "../../model/model.js";
import { type CommandLine, commandLine, isProxyServer } from "./command-line.js";
import { containerWords, textAt, yamlOf } from "./manifest.js";
import type { Processes } from "./processes.js";

/**
 * Undefined when nothing on this host tells. `sockets` are the names the server may know its socket by; unless one of them
 * was `said`, a host's only server is taken for the one that is meant, so that a wrong socket is noticed.
 */
export async function serverSettings(
  { paths }: BridgeModel,
  sockets: readonly string[],
  said: boolean,
  processes: Processes,
): Promise<CommandLine | undefined> {
  const running = (await processes())
    .filter(isProxyServer)
    .map((words) => commandLine("the running proxy-server", words));
  const ours = running.find(({ flags }) => sockets.includes(flags.get("uds-name") ?? ""));
  if (ours !== undefined) return ours;
  if (running.length === 1 && !said) return running[0];
  const pod = await textAt(paths.staticPod);
  if (pod !== undefined) return commandLine(paths.staticPod, containerWords(yamlOf(pod)));
  const unit = await textAt(paths.unit);
  return unit === undefined ? undefined : commandLine(paths.unit, unitWords(unit));
}

/** The words of ExecStart, as our own unit writes them. */
function unitWords(unit: string): string[] {
  const [, command = ""] = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(unit) ?? [];
  return command
    .replaceAll("\\\n", " ")
    .split(/\s+/)
    .filter((word) => word !== "")
    .map((word) => word.replace(/^"|"$/g, "").replaceAll("%%", "%").replaceAll("$$", "$"));
}
