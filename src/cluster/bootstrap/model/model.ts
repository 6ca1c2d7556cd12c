/** The one description of a bridge: every manifest, flag, firewall rule and teardown step is derived from it. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { namespaces, type OwnPlaces, pathsFor, placeholders, ports, type Topology } from "./names.js";

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

export type BridgeModel = ReturnType<typeof bridgeModel>;

const DAY_MS = 24 * 60 * 60_000;
const modes = { GRPC: "grpc", HTTPConnect: "http-connect" } as const satisfies Record<ProxyProtocol, string>;

/** Throws a DrawbridgeError when the options cannot make a bridge. */
export function bridgeModel(options: BridgeOptions) {
  const topology = options.for;
  const { protocol = "GRPC", imageKind = defaultImageKind[topology], agentNetwork = "pod" } = options;
  const server = chosenServer(options);
  checkPlaces(options);
  const paths = pathsFor(topology, options, server.form === "static-pod");
  if (Buffer.byteLength(paths.socket.host) > LONGEST_SOCKET_PATH)
    throw new DrawbridgeError("DB_UDS_PATH_TOO_LONG", `The socket's path ${paths.socket.host} is too long.`);
  const { agent, health, agentHealthOnHost, admin }: Readonly<Record<keyof typeof ports, number>> = ports;
  return {
    for: topology,
    namespace: namespaces[topology] as string,
    ports: { agent, serverHealth: health, agentHealth: agentNetwork === "host" ? agentHealthOnHost : health, admin },
    paths,
    /** Both sides take their word for it from here, so that they cannot disagree. */
    protocol: { egress: protocol, serverMode: modes[protocol] },
    images: imagesFor(options, imageKind),
    server,
    agentNetwork,
    /** At least one; a placeholder when none is known yet. */
    serverAddresses: chosenAddresses(options.serverAddresses ?? [], imageKind),
    validForMs: options.validForMs ?? DAY_MS,
  };
}

/** Of sockaddr_un. */
const LONGEST_SOCKET_PATH = 107;
const PLAIN_PATH = /^(\/[\w.-]+)+$/;
const HAS_DOTS = /\/\.{1,2}(\/|$)/;

/** At least one; a placeholder when none is known. */
function chosenAddresses(given: readonly string[], kind: ImageKind): readonly [string, ...string[]] {
  for (const address of given) {
    if (isIP(address) === 0 || address.includes("%"))
      throw unusable(`the server address "${address}" is not an IP address; names and balancers move during bootstrap`);
  }
  const [first = placeholders.address, ...more] = new Set(given);
  if (more.length > 0 && kind !== "drawbridge")
    throw unusable("only drawbridge's own agent connects to several servers; choose its image or give one address");
  return [first, ...more];
}

/** A teardown empties the bridge's directories, so a chosen one must be recognisable as the bridge's own. */
function checkPlaces(options: BridgeOptions): void {
  const { runtimeDirectory: runtime, configDirectory: config, pkiDirectory: PKI, manifestsDirectory } = options;
  const own = { runtime, config, PKI };
  if (options.for === "openshift" && Object.values(own).some((path) => path !== undefined))
    throw unusable("on OpenShift the directories are the bootstrap host's; leave them out");
  for (const [what, path] of Object.entries({ ...own, manifests: manifestsDirectory })) {
    if (path !== undefined && !isPlain(path))
      throw unusable(`the ${what} directory "${path}" is not an absolute path of letters, digits, dots and dashes`);
  }
  for (const [what, path] of Object.entries(own)) {
    if (path !== undefined && !/(drawbridge|konnectivity)[\w.-]*$/.test(path))
      throw unusable(`the ${what} directory "${path}" is emptied at teardown, so its name must contain "drawbridge"`);
  }
}

function chosenServer(options: BridgeOptions) {
  const { serverForm, serverProgram = "/usr/local/bin/proxy-server", socketGroup = 0 } = options;
  const form = serverForm ?? (options.for === "bare" ? "systemd" : "static-pod");
  if (options.for === "openshift" && form !== "static-pod")
    throw unusable("on OpenShift the server is a static pod; leave its form out");
  if (!isPlain(serverProgram))
    throw unusable(
      `the server's program "${serverProgram}" is not an absolute path of letters, digits, dots and dashes`,
    );
  if (!Number.isInteger(socketGroup) || socketGroup < 0)
    throw unusable(`the socket's group ${socketGroup} is not a numeric group`);
  return { form, program: serverProgram, socketGroup };
}

function isPlain(path: string): boolean {
  return PLAIN_PATH.test(path) && !HAS_DOTS.test(path);
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_BRIDGE_OPTIONS", `The bridge cannot be built like this: ${sentence}.`);
}

/** `payload` is the OpenShift release's own image, `upstream` the Kubernetes project's, `drawbridge` ours. */
export type ImageKind = "payload" | "upstream" | "drawbridge";

export const imageKinds = ["payload", "upstream", "drawbridge"] as const satisfies readonly ImageKind[];

interface Resources {
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits?: { readonly memory: string };
}

const goResources: Resources = { requests: { cpu: "40m", memory: "50Mi" } };

/**
 * Measured with Node: about 52 MiB resident when idle, 75 with 2,000 tunnels, up to 450 with 2,000 readers that stopped
 * (256 MiB of queues and 128 MiB of windows are the process's own bounds). Upstream's manifests ask for 50Mi and allow
 * 30Mi, which Node exceeds before its first tunnel.
 */
const nodeResources: Resources = { requests: { cpu: "40m", memory: "96Mi" }, limits: { memory: "640Mi" } };

/** The images of each kind, the directory of the executables in them, and what server and agent need, about the same. */
const distributions = {
  payload: { server: placeholders.image, agent: placeholders.image, bin: "/usr/bin", resources: goResources },
  upstream: {
    server: "registry.k8s.io/kas-network-proxy/proxy-server:v0.36.0",
    agent: "registry.k8s.io/kas-network-proxy/proxy-agent:v0.36.0",
    bin: "",
    resources: goResources,
  },
  // A name that no runtime looks for on the network: the image is imported from the OCI layout we ship.
  drawbridge: {
    server: "localhost/drawbridge",
    agent: "localhost/drawbridge",
    bin: "/usr/bin",
    resources: nodeResources,
  },
};

/** FIPS hosts want validated cryptography, which a payload has and Node's bundled OpenSSL is not. */
const defaultImageKind: Readonly<Record<Topology, ImageKind>> = {
  openshift: "payload",
  kubeadm: "drawbridge",
  bare: "drawbridge",
};

function imagesFor(options: BridgeOptions, kind: ImageKind) {
  const { image, serverImage: server = image, agentImage: agent = image, version = "latest" } = options;
  for (const spec of [server, agent]) {
    // Anything else could be interpreted by the sed, YAML or bash of an OpenShift host's scripts.
    if (spec !== undefined && !/^[A-Za-z0-9][\w.:/@-]*$/.test(spec))
      throw unusable(`"${spec}" is not an image's pull spec (--image, --server-image, --agent-image)`);
  }
  if (kind === "payload" && options.for !== "openshift" && (server === undefined || agent === undefined))
    throw unusable("only OpenShift hosts can look up the payload's image; elsewhere give it with --image");
  if (kind === "upstream" && image !== undefined && server === agent)
    throw unusable("upstream has one image for each program; give --server-image and --agent-image");
  const { bin, resources, ...own } = distributions[kind];
  const tag = kind === "drawbridge" ? `:${version}` : "";
  return {
    kind,
    server: { image: server ?? own.server + tag, command: [`${bin}/proxy-server`] },
    agent: { image: agent ?? own.agent + tag, command: [`${bin}/proxy-agent`] },
    resources,
  };
}
