import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer, string, stringArray, stringSlice } from "../flags/flag-value.js";
import { declareSshFlags } from "./ssh.js";

export type GatherFlags = ReturnType<typeof declareGatherFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareGatherFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    dir: text(
      "dir",
      "Install directory of openshift-install: bootstrap host, control plane, key and kubeconfig are found in it.",
    ),
    ...declareSshFlags(set, "Host to gather from over SSH. If empty, as --dir says, else this host."),
    node: set.add("node", stringSlice, [], "Host where an agent runs, to gather from over SSH; repeatable."),
    kubeconfig: text(
      "kubeconfig",
      "Kubeconfig for the agents' part. If empty, as --dir says, else that part is left out.",
    ),
    namespace: set.add("namespace", stringSlice, [], "Further namespace in which agents stand; repeatable."),
    log: set.add(
      "log",
      stringArray,
      [],
      "NAME=FILE on the bootstrap host: the log of konnectivity-server, konnectivity-agent or kube-apiserver where it is a plain file; repeatable.",
    ),
    stateDirectory: set.add(
      "state-dir",
      string,
      DEFAULT_STATE_DIRECTORY,
      "Where up keeps its record on this host, which tells the other places.",
    ),
    pki: set.add(
      "pki",
      stringSlice,
      [],
      "Further directory on the bootstrap host with certificates; keys in it are not touched.",
    ),
    healthPort: set.add("health-port", integer, 0, "Health port of the server. If 0, the bridge's own."),
    adminPort: set.add("admin-port", integer, 0, "Admin port of the server, for its metrics. If 0, the bridge's own."),
    timeout: set.add("timeout", duration, 300_000_000_000n, "How long each host and the cluster may take."),
    out: text("out", "Archive to write. If empty, drawbridge-gather-<time>.tar.gz in --dir or here."),
    output: set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text."),
  };
  return { set, flags };
}
