/** The one description of a bridge: every manifest, flag, firewall rule and teardown step is derived from it. */
import { checkSocket, chosenAddresses, chosenImages, chosenPlaces, chosenServer } from "./checks.js";
import { defaultImageKind, type ImageKind, type Images, imagesOf } from "./images.js";
import { namespaces, ports, type Topology } from "./names.js";
import { type BridgePaths, type OwnPlaces, pathsFor } from "./paths.js";

/** As an EgressSelectorConfiguration spells it. */
export type ProxyProtocol = "GRPC" | "HTTPConnect";

export type AgentNetwork = "pod" | "host";

/** What keeps the server running. */
export type ServerForm = "static-pod" | "systemd" | "process";

export interface BridgeOptions extends OwnPlaces {
  readonly for: Topology;
  /** Default GRPC. */
  readonly protocol?: ProxyProtocol | undefined;
  /** Default: the payload's on OpenShift, ours elsewhere. */
  readonly imageKind?: ImageKind | undefined;
  /** Pull spec for server and agent; the kind's own by default. */
  readonly image?: string | undefined;
  /** Where the two differ, as upstream's do; win over `image`. */
  readonly serverImage?: string | undefined;
  readonly agentImage?: string | undefined;
  /** drawbridge's own, which is the tag of its image; default latest. */
  readonly version?: string | undefined;
  /** Default pod: such an agent runs only where pods can be reached. */
  readonly agentNetwork?: AgentNetwork | undefined;
  /** Where agents find the servers, one address for each kube-apiserver. Default: a placeholder for one. */
  readonly serverAddresses?: readonly string[] | undefined;
  /** Default: a static pod, on a bare host a systemd unit. */
  readonly serverForm?: ServerForm | undefined;
  /** Executable for a server outside a pod. */
  readonly serverProgram?: string | undefined;
  /** Numeric group that may use the socket, for a kube-apiserver that is not root. Default root's. */
  readonly socketGroup?: number | undefined;
  /** How long the certificates live; default one day. */
  readonly validForMs?: number | undefined;
}

export interface BridgeModel {
  readonly for: Topology;
  readonly namespace: string;
  readonly ports: {
    readonly agent: number;
    readonly serverHealth: number;
    readonly agentHealth: number;
    readonly admin: number;
  };
  readonly paths: BridgePaths;
  /** Both sides take their word for it from here, so that they cannot disagree. */
  readonly protocol: { readonly egress: ProxyProtocol; readonly serverMode: "grpc" | "http-connect" };
  readonly images: Images;
  readonly server: { readonly form: ServerForm; readonly program: string; readonly socketGroup: number };
  readonly agentNetwork: AgentNetwork;
  /** At least one; a placeholder when none is known yet. */
  readonly serverAddresses: readonly [string, ...string[]];
  readonly validForMs: number;
}

const DAY_MS = 24 * 60 * 60_000;
const modes = { GRPC: "grpc", HTTPConnect: "http-connect" } as const satisfies Record<ProxyProtocol, string>;

/** Throws a DrawbridgeError when the options cannot make a bridge. */
export function bridgeModel(options: BridgeOptions): BridgeModel {
  const topology = options.for;
  const { protocol = "GRPC", imageKind = defaultImageKind[topology], agentNetwork = "pod" } = options;
  const server = chosenServer(options);
  const paths = pathsFor(topology, chosenPlaces(options), server.form === "static-pod");
  checkSocket(paths);
  return {
    for: topology,
    namespace: namespaces[topology],
    ports: {
      agent: ports.agent,
      serverHealth: ports.health,
      agentHealth: agentNetwork === "host" ? ports.agentHealthOnHost : ports.health,
      admin: ports.admin,
    },
    paths,
    protocol: { egress: protocol, serverMode: modes[protocol] },
    images: imagesOf(imageKind, chosenImages(options, imageKind)),
    server,
    agentNetwork,
    serverAddresses: chosenAddresses(options.serverAddresses ?? [], imageKind),
    validForMs: options.validForMs ?? DAY_MS,
  };
}
