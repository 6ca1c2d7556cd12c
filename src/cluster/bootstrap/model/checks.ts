/** What makes a bridge impossible, or impossible to take away safely; each refusal is one sentence. */
import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { ImageKind } from "./images.js";
import type { BridgeOptions } from "./model.js";
import { placeholders } from "./names.js";
import type { BridgePaths, OwnPlaces } from "./paths.js";

// sockaddr_un's.
const LONGEST_SOCKET_PATH = 107;
const PLAIN_PATH = /^(\/[\w.-]+)+$/;
const HAS_DOTS = /\/\.{1,2}(\/|$)/;

/** The images somebody chose; undefined where the kind's own is meant. */
export function chosenImages(options: BridgeOptions, kind: ImageKind) {
  const { image, serverImage: server = image, agentImage: agent = image } = options;
  for (const spec of [server, agent]) {
    // The scripts of an OpenShift host put it in with sed.
    if (spec !== undefined && !/^[\w.:/@-]+$/.test(spec)) throw unusable(`"${spec}" is not an image's pull spec`);
  }
  if (kind === "payload" && options.for !== "openshift" && (server === undefined || agent === undefined))
    throw unusable("only OpenShift hosts can look up the payload's image; elsewhere give it with --image");
  if (kind === "upstream" && image !== undefined && server === agent)
    throw unusable("upstream has one image for each program; give --server-image and --agent-image");
  return { server, agent, version: options.version };
}

/** At least one; a placeholder when none is known. */
export function chosenAddresses(given: readonly string[], kind: ImageKind): readonly [string, ...string[]] {
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
export function chosenPlaces(options: BridgeOptions): OwnPlaces {
  const { runtimeDirectory, configDirectory, pkiDirectory, manifestsDirectory } = options;
  const own = { runtime: runtimeDirectory, config: configDirectory, PKI: pkiDirectory };
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
  return { runtimeDirectory, configDirectory, pkiDirectory, manifestsDirectory };
}

export function chosenServer(options: BridgeOptions) {
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

export function checkSocket({ socket }: BridgePaths): void {
  if (Buffer.byteLength(socket.host) > LONGEST_SOCKET_PATH)
    throw new DrawbridgeError("DB_UDS_PATH_TOO_LONG", `The socket's path ${socket.host} is too long.`);
}

function isPlain(path: string): boolean {
  return PLAIN_PATH.test(path) && !HAS_DOTS.test(path);
}

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_BRIDGE_OPTIONS", `The bridge cannot be built like this: ${sentence}.`);
}
