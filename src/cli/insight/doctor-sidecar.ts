/** A running sidecar's settings: its own words, understood by the very code that understood them when it started. */
import { basename } from "node:path";
import { messageOf } from "../../base/errors/error.js";
import type { RunningProgram, SidecarWays } from "../../insight/diagnosis/context.js";
import { processFile } from "../../insight/diagnosis/host/process-file.js";
import { sidecarNames } from "../../insight/diagnosis/program.js";
import type { Frontend } from "../../tunnel/client/frontend.js";

/** A sentence when they cannot be understood from here. */
export async function sidecarWays(running: RunningProgram): Promise<SidecarWays | string> {
  const [{ parseSidecarArgs }, { parseHttpsProxyArgs, parseSocks5ProxyArgs }] = await Promise.all([
    import("../tunnel/sidecar-args.js"),
    import("../tunnel/konnectivity-args.js"),
  ]);
  const parsers = [parseSidecarArgs, parseSocks5ProxyArgs, parseHttpsProxyArgs];
  const at = running.words.findIndex((word) => sidecarNames.some((name) => name === basename(word)));
  const parse = parsers[sidecarNames.findIndex((name) => name === basename(running.words[at] ?? ""))];
  try {
    const invocation = parse?.(running.words.slice(at + 1), process.env, "sidecar");
    if (invocation === undefined || invocation.help !== undefined) return "the sidecar's flags are not known";
    const file = (path: string) => processFile(running.pid, path);
    const { listeners } = invocation.config;
    const doors = new Map(listeners.flatMap(({ way }) => way.frontends).map((door) => [JSON.stringify(door), door]));
    return {
      frontends: [...doors.values()].map((door) => withFiles(door, file)),
      listeners: listeners.map(({ name, way: { resolution, fallback } }) => ({
        ...{ name, order: resolution.order, fallbackDirect: fallback.direct },
        kubeconfig: resolution.kube.kubeconfig === "" ? "" : file(resolution.kube.kubeconfig),
      })),
    };
  } catch (reason) {
    return `the flags of the sidecar (${running.source}) cannot be understood here: ${messageOf(reason).replace(/\.$/, "")}`;
  }
}

function withFiles(door: Frontend, file: (path: string) => string): Frontend {
  if ("uds" in door) return { ...door, uds: file(door.uds) };
  const { caFile } = door.tls;
  return caFile === undefined ? door : { ...door, tls: { ...door.tls, caFile: file(caFile) } };
}
