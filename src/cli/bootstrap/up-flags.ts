import { resolve } from "node:path";
import type { UpOptions } from "../../cluster/bootstrap/host/plan.js";
import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { imageKinds } from "../../cluster/bootstrap/model/model.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, duration, integer, string } from "../flags/flag-value.js";
import { parseGoDuration } from "../flags/go-duration.js";

export type UpFlags = ReturnType<typeof declareUpFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareUpFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    for: set.add(
      "for-platform",
      choice("kubeadm", "bare"),
      undefined,
      "What kind of control plane this host has. If empty, kubeadm where its files are, else bare.",
    ),
    kubeconfig: text(
      "kubeconfig",
      "An administrator's access. If empty, KUBECONFIG, then kubeadm's own admin.conf, then what an earlier run used.",
    ),
    address: text("address", "Address of this host that agents dial. If empty, the one its routes lead from."),
    validFor: set.add(
      "for",
      duration,
      parseGoDuration("24h"),
      "How long the bridge may stand: its certificates end then.",
    ),
    serverForm: set.add(
      "server",
      choice("static-pod", "systemd", "process"),
      undefined,
      "What keeps the server running. If empty, a static pod, on bare hosts a systemd unit.",
    ),
    serverProgram: text(
      "server-program",
      "The server's executable outside pods. If empty, the one beside this program.",
    ),
    apply: set.add(
      "apply",
      boolean,
      false,
      "Change the kube-apiserver's manifest, too, with a backup in the state directory. Otherwise up says what to change.",
    ),
    applyCommand: text(
      "apply-command",
      "Shell command that restarts a bare kube-apiserver with the flag in its EGRESS_FLAG variable.",
    ),
    restoreCommand: text("restore-command", "Shell command for teardown that restarts it without the flag."),
    onlyThisApiServer: set.add(
      "only-this-apiserver",
      boolean,
      false,
      "Go on although the cluster has more kube-apiservers: they reach pods without a bridge.",
    ),
    imageKind: set.add(
      "image-kind",
      choice(...imageKinds),
      undefined,
      "Whose programs run in pods: drawbridge's (default), upstream's, or an OpenShift payload's.",
    ),
    image: text("image", "Pull spec of the image with both programs. If empty, the kind's own."),
    serverImage: text("server-image", "Pull spec of the server's image, where it differs."),
    agentImage: text("agent-image", "Pull spec of the agents' image, where it differs."),
    protocol: set.add(
      "protocol",
      choice("grpc", "http-connect"),
      undefined,
      "What kube-apiserver and server speak on the socket. If empty, grpc.",
    ),
    agentNetwork: set.add(
      "agent-network",
      choice("pod", "host"),
      undefined,
      "Which network agents are in: the pods' (default), or their nodes', where they start before the network plugin.",
    ),
    socketGroup: set.add("socket-group", integer, 0, "Numeric group of a kube-apiserver that does not run as root."),
    runtimeDirectory: text("runtime-directory", "The socket's directory. If empty, /run/drawbridge-bootstrap."),
    configDirectory: text(
      "config-directory",
      "Directory of egress configuration and certificates. If empty, under /etc.",
    ),
    manifestsDirectory: text("manifests-directory", "The kubelet's static pods. If empty, /etc/kubernetes/manifests."),
    stateDirectory: set.add("state-dir", string, DEFAULT_STATE_DIRECTORY, "Where the bridge's record and backups are."),
    timeout: set.add(
      "timeout",
      duration,
      parseGoDuration("5m"),
      "How long to wait for kube-apiserver and agents, each.",
    ),
    output: set.add("output", choice("text", "json"), undefined, "For people or for scripts. If empty, text."),
  };
  return { set, flags };
}

/** Without what only the surroundings tell. */
export function upWishes(flags: UpFlags): Omit<UpOptions, "ownProgram" | "env" | "version"> {
  const given = (flag: { readonly value: string }): string | undefined => flag.value || undefined;
  const protocols = { grpc: "GRPC", "http-connect": "HTTPConnect" } as const;
  return {
    for: flags.for.value,
    kubeconfig: flags.kubeconfig.value && resolve(flags.kubeconfig.value),
    address: given(flags.address),
    // Certificates outlive what Node's timers can hold, so this is plain arithmetic.
    validForMs: Number(flags.validFor.value / 1_000_000n),
    serverForm: flags.serverForm.value,
    serverProgram: given(flags.serverProgram),
    apply: flags.apply.value,
    applyCommand: given(flags.applyCommand),
    restoreCommand: given(flags.restoreCommand),
    onlyThisApiServer: flags.onlyThisApiServer.value,
    imageKind: flags.imageKind.value,
    image: given(flags.image),
    serverImage: given(flags.serverImage),
    agentImage: given(flags.agentImage),
    protocol: flags.protocol.value === undefined ? undefined : protocols[flags.protocol.value],
    agentNetwork: flags.agentNetwork.value,
    socketGroup: flags.socketGroup.changed ? flags.socketGroup.value : undefined,
    runtimeDirectory: given(flags.runtimeDirectory),
    configDirectory: given(flags.configDirectory),
    manifestsDirectory: given(flags.manifestsDirectory),
    stateDirectory: flags.stateDirectory.value,
    timeoutMs: Number(flags.timeout.value / 1_000_000n),
  };
}
