/** The settings of running programs: their command lines, parsed by the code that parsed them when they started. */
import { basename } from "node:path";
import { reasonOf } from "../../base/errors/error.js";
import { CheckFailure } from "../../base/finding.js";
import type { RunningProgram, SidecarSettings } from "../../insight/diagnosis/facts.js";
import type { AgentSettings } from "../../insight/diagnosis/host/as-agent.js";
import { processEnvironment, processFile } from "../../insight/diagnosis/host/this-host.js";
import type { ProgramSettings } from "../../insight/diagnosis/place.js";
import { sidecarNames } from "../../insight/diagnosis/programs.js";
import type { Frontend } from "../../tunnel/client/frontend.js";

/** Each throws CheckFailure when the flags cannot be understood from here. */
export const programSettings: ProgramSettings = {
  agent: (running) => understood("agent", running, () => agentSettings(running)),
  sidecar: (running) => understood("sidecar", running, () => sidecarSettings(running)),
};

async function understood<T>(title: string, { source }: RunningProgram, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (reason) {
    throw new CheckFailure(
      `the flags of the ${title} (${source}) cannot be understood here: ${reasonOf(reason)}`,
      `Compare its command line with drawbridge ${title} --help; run the doctor of the same version.`,
    );
  }
}

/** The words behind the program's name. */
function argumentsOf({ words }: RunningProgram, names: readonly string[]) {
  const at = words.findIndex((word) => names.includes(basename(word)));
  return { name: basename(words[at] ?? ""), argv: words.slice(at + 1) };
}

async function agentSettings(running: RunningProgram): Promise<AgentSettings> {
  const { readAgentConfig } = await import("../tunnel/agent.js");
  const env = await processEnvironment(running.pid);
  const { argv } = argumentsOf(running, ["proxy-agent", "agent"]);
  const { servers, tls, tokenFile } = readAgentConfig(argv, env);
  const file = (path: string) => (path === "" ? "" : processFile(running.pid, path));
  return {
    ...{ servers, env, tokenFile: file(tokenFile) },
    tls: { ...tls, caFile: file(tls.caFile), certFile: file(tls.certFile), keyFile: file(tls.keyFile) },
    names: {
      hostsFile: processFile(running.pid, "/etc/hosts"),
      resolvConf: processFile(running.pid, "/etc/resolv.conf"),
    },
  };
}

async function sidecarSettings(running: RunningProgram): Promise<SidecarSettings> {
  const [{ default: sidecarCommand }, { httpsProxyCommand, socks5ProxyCommand }] = await Promise.all([
    import("../tunnel/sidecar.js"),
    import("../tunnel/konnectivity.js"),
  ]);
  const { argv, name } = argumentsOf(running, sidecarNames);
  const commands = [sidecarCommand, socks5ProxyCommand, httpsProxyCommand];
  const command = commands[(sidecarNames as readonly string[]).indexOf(name)];
  const invocation = command?.parse(argv, await processEnvironment(running.pid), "sidecar");
  if (invocation === undefined || invocation.help !== undefined) throw new Error("they are not known");
  const file = (path: string) => processFile(running.pid, path);
  const { listeners } = invocation.config.config;
  const distinct = new Map(
    listeners.flatMap(({ routing }) => routing.frontends).map((each) => [JSON.stringify(each), each]),
  );
  return {
    frontends: [...distinct.values()].map((frontend) => withFiles(frontend, file)),
    listeners: listeners.map(({ name: listener, routing: { resolve: order, fallbackDirect, kubeconfig } }) => ({
      ...{ name: listener, order, fallbackDirect },
      kubeconfig: kubeconfig === "" ? "" : file(kubeconfig),
    })),
  };
}

function withFiles(frontend: Frontend, file: (path: string) => string): Frontend {
  if ("uds" in frontend) return { ...frontend, uds: file(frontend.uds) };
  const { caFile, certFile, keyFile } = frontend.tls;
  const files = Object.entries({ caFile, certFile, keyFile }).flatMap(([name, path]) =>
    path ? [[name, file(path)]] : [],
  );
  return { ...frontend, tls: { ...frontend.tls, ...Object.fromEntries(files) } };
}
