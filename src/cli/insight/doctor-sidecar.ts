/** A running sidecar's settings: its command line, parsed by the code that parsed it when it started. */
import { basename } from "node:path";
import { reasonOf } from "../../base/errors/error.js";
import { CheckFailure } from "../../base/finding.js";
import type { RunningProgram, SidecarSettings } from "../../insight/diagnosis/facts.js";
import { processFile } from "../../insight/diagnosis/host/this-host.js";
import { sidecarNames } from "../../insight/diagnosis/programs.js";
import type { Frontend } from "../../tunnel/client/frontend.js";

/** Throws CheckFailure when they cannot be understood from here. */
export async function sidecarSettings(running: RunningProgram): Promise<SidecarSettings> {
  const [{ default: sidecarCommand }, { httpsProxyCommand, socks5ProxyCommand }] = await Promise.all([
    import("../tunnel/sidecar.js"),
    import("../tunnel/konnectivity.js"),
  ]);
  const commands = [sidecarCommand, socks5ProxyCommand, httpsProxyCommand];
  const at = running.words.findIndex((word) => sidecarNames.some((name) => name === basename(word)));
  const command = commands[sidecarNames.findIndex((name) => name === basename(running.words[at] ?? ""))];
  try {
    const invocation = command?.parse(running.words.slice(at + 1), process.env, "sidecar");
    if (invocation === undefined || invocation.help !== undefined) throw new Error("they are not known");
    const file = (path: string) => processFile(running.pid, path);
    const { listeners } = invocation.config.config;
    const distinct = new Map(
      listeners.flatMap(({ routing }) => routing.frontends).map((each) => [JSON.stringify(each), each]),
    );
    return {
      frontends: [...distinct.values()].map((frontend) => withFiles(frontend, file)),
      listeners: listeners.map(({ name, routing: { resolve: order, fallbackDirect, kubeconfig } }) => ({
        ...{ name, order, fallbackDirect },
        kubeconfig: kubeconfig === "" ? "" : file(kubeconfig),
      })),
    };
  } catch (reason) {
    const why = reasonOf(reason);
    throw new CheckFailure(
      `the flags of the sidecar (${running.source}) cannot be understood here: ${why}`,
      "Give --kubeconfig, --frontend and files as the sidecar sees them.",
    );
  }
}

function withFiles(frontend: Frontend, file: (path: string) => string): Frontend {
  if ("uds" in frontend) return { ...frontend, uds: file(frontend.uds) };
  const { caFile } = frontend.tls;
  return caFile === undefined ? frontend : { ...frontend, tls: { ...frontend.tls, caFile: file(caFile) } };
}
