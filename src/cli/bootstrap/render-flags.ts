import { imageKinds } from "../../cluster/bootstrap/model/model.js";
import { topologies } from "../../cluster/bootstrap/model/names.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string, stringSlice } from "../flags/flag-value.js";

export type RenderFlags = ReturnType<typeof declareRenderFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareRenderFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    for: set.add("for", choice(...topologies), undefined, "Where the bridge is built. Required."),
    part: set.add(
      "part",
      choice("all", "cluster", "host", "kube-apiserver"),
      undefined,
      "Only what is applied to the cluster, put on the server's host, or told to the kube-apiserver. If empty, all.",
    ),
    out: text("out", "Directory to write the files into. If empty, they are printed."),
    output: set.add(
      "output",
      choice("yaml", "json"),
      undefined,
      "How to print; json also names what teardown removes.",
    ),
    imageKind: set.add(
      "image-kind",
      choice(...imageKinds),
      undefined,
      "Whose programs run: the OpenShift payload's (default there), upstream's, or drawbridge's (default elsewhere).",
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
      "Which network agents are in: the pods' (default), or their nodes', where they start before the network plugin. On OpenShift host needs 4.11 or newer.",
    ),
    serverAddress: set.add(
      "server-address",
      stringSlice,
      [],
      "IP address at which agents reach the server; one for each kube-apiserver. If empty, a placeholder.",
    ),
    serverForm: set.add(
      "server-form",
      choice("static-pod", "systemd", "process"),
      undefined,
      "What keeps the server running. If empty, a static pod, on bare hosts a systemd unit.",
    ),
    serverProgram: text(
      "server-program",
      "The server's executable outside pods. If empty, /usr/local/bin/proxy-server.",
    ),
    socketGroup: set.add("socket-group", integer, 0, "Numeric group of a kube-apiserver that does not run as root."),
    runtimeDirectory: text("runtime-directory", "The socket's directory. If empty, /run/drawbridge-bootstrap."),
    configDirectory: text(
      "config-directory",
      "Directory of egress configuration and certificates. If empty, under /etc.",
    ),
    manifestsDirectory: text("manifests-directory", "The kubelet's static pods. If empty, /etc/kubernetes/manifests."),
    pki: text(
      "pki",
      "Directory with agent.crt, agent.key and ca.crt to fill the Secret from. If empty, it keeps placeholders and no key is printed.",
    ),
  };
  return { set, flags };
}
