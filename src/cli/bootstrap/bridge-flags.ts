/** Flags that several bootstrap commands share: images, protocol, networks and directories of the bridge. */
import { DEFAULT_STATE_DIRECTORY } from "../../cluster/bootstrap/host/record.js";
import { type BridgeOptions, imageKinds } from "../../cluster/bootstrap/model/model.js";
import { filePath, inGroup, number, oneOf, text, type Values } from "../flags/flag.js";

export const stateDirFlag = {
  "state-dir": filePath("Directory of the bridge's record and backups.", DEFAULT_STATE_DIRECTORY),
};

/** Programs, protocol and network; the texts say what is so by default. */
export const programFlags = (texts: { kind: string; image: string; network: string }) => ({
  ...inGroup("advanced", {
    "image-kind": oneOf(imageKinds, texts.kind),
    image: text(texts.image),
    "server-image": text("Pull spec of the server's image, where it differs from --image."),
    "agent-image": text("Pull spec of the agents' image, where it differs from --image."),
    protocol: oneOf(
      ["grpc", "http-connect"],
      "Protocol between kube-apiserver and server on the socket. If empty, grpc.",
    ),
    "agent-network": oneOf(["pod", "host"], texts.network),
  }),
});

/** Program, socket group and directories of the server. */
export const hostFlags = (program: string) =>
  inGroup("advanced", {
    "server-program": text(`Executable of the server outside pods. If empty, ${program}.`),
    "socket-group": number(0, "Numeric group of a kube-apiserver that does not run as root."),
    "runtime-directory": filePath("Directory of the server's socket. If empty, /run/drawbridge-bootstrap."),
    "config-directory": filePath("Directory of egress configuration and certificates. If empty, under /etc."),
    "manifests-directory": filePath("Directory of the kubelet's static pods. If empty, /etc/kubernetes/manifests."),
  });

export const SERVER_FORMS = ["static-pod", "systemd", "process"] as const;

type ProgramFlags = Values<ReturnType<typeof programFlags>> & Partial<Values<ReturnType<typeof hostFlags>>>;

type GivenOptions = { readonly [Name in keyof Omit<BridgeOptions, "for">]?: NonNullable<BridgeOptions[Name]> };

/** Options of a bridge from these flags; those that are empty or were not given are left out. */
export function bridgeOptionsOf(flags: ProgramFlags, given: ReadonlySet<string>): GivenOptions {
  const { imageKind, image, serverImage, agentImage, protocol, agentNetwork } = flags;
  const { serverProgram, socketGroup, runtimeDirectory, configDirectory, manifestsDirectory } = flags;
  const options = {
    ...{ imageKind, image, serverImage, agentImage, agentNetwork },
    ...{ serverProgram, runtimeDirectory, configDirectory, manifestsDirectory },
    protocol: protocol && (protocol === "grpc" ? "GRPC" : "HTTPConnect"),
    socketGroup: given.has("socket-group") ? socketGroup : undefined,
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== ""));
}
