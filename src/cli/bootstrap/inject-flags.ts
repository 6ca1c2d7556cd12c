import type { InjectOptions } from "../../cluster/bootstrap/inject/payload.js";
import { imageKinds } from "../../cluster/bootstrap/model/model.js";
import { choice } from "../flags/choice.js";
import { FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string } from "../flags/flag-value.js";
import type { Environment } from "../framework/invocation.js";

export type InjectFlags = ReturnType<typeof declareInjectFlags>["flags"];

/** The installer's own variable for the same thing. */
const ADDRESS_VARIABLE = "OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP";

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareInjectFlags(program: string, env: Environment) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const yesNo = (name: string, usage: string) => set.add(name, boolean, false, usage);
  const flags = {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    remove: yesNo("remove", "Take the bridge out again; the file is then what it was, byte for byte."),
    check: yesNo("check", "Change nothing; say for each part of the bridge whether it is there and fits."),
    show: yesNo("show", "Change nothing; print every manifest and script as it would be."),
    inPlace: yesNo("in-place", "Replace the file itself. This is what happens without --out."),
    out: text("out", "File to write instead of replacing the input."),
    output: set.add("output", choice("text", "json"), undefined, "How to report. If empty, text."),
    image: text("image", "Pull spec of an image with both programs; required for releases before 4.11."),
    serverImage: text("server-image", "Pull spec of the server's image, where it differs."),
    agentImage: text("agent-image", "Pull spec of the agents' image, where it differs."),
    imageKind: set.add(
      "image-kind",
      choice(...imageKinds),
      undefined,
      "Whose programs the image has: those of an OpenShift payload (default), upstream's, or drawbridge's.",
    ),
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
      "Which network agents are in: the pods' (default), or their nodes', which needs 4.11 or newer.",
    ),
    bootstrapIp: text(
      "bootstrap-ip",
      `The bootstrap host's address, which agents dial. If empty, the host finds it. The environment variable ${ADDRESS_VARIABLE} sets the default.`,
      env[ADDRESS_VARIABLE] ?? "",
    ),
    validHours: set.add("valid-hours", integer, 0, "How long the certificates live. If 0, 24."),
  };
  return { set, flags };
}

/** Only what was said: the rest may stand in the file from an earlier run. */
export function optionsOf(flags: InjectFlags): InjectOptions {
  return {
    ...(flags.image.value && { image: flags.image.value }),
    ...(flags.serverImage.value && { serverImage: flags.serverImage.value }),
    ...(flags.agentImage.value && { agentImage: flags.agentImage.value }),
    ...(flags.imageKind.value && { imageKind: flags.imageKind.value }),
    ...(flags.protocol.value && { protocol: flags.protocol.value === "grpc" ? "GRPC" : "HTTPConnect" }),
    ...(flags.agentNetwork.value && { agentNetwork: flags.agentNetwork.value }),
    ...(flags.bootstrapIp.value && { bootstrapIp: flags.bootstrapIp.value }),
    ...(flags.validHours.value && { validHours: flags.validHours.value }),
  };
}
