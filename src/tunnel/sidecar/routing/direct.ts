/** Direct connections from this host. */
import net from "node:net";
import type { Duplex } from "node:stream";
import { connected } from "../../outgoing/connected.js";
import type { Target } from "./errors.js";

/** A dead peer is noticed although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export async function connectTcp({ host, port }: Target, stop: AbortSignal): Promise<Duplex> {
  const socket = net.connect({ host, port, allowHalfOpen: true });
  socket.setNoDelay(true);
  socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
  return await connected(socket, "connect", stop, (why) => why);
}

/**
 * Suffixes with their dot, so that neither the bare domain nor a look-alike counts. The first seven are HyperShift's; the
 * others are the same APIs in other partitions. Nothing of Google's is here: sign-in (www.googleapis.com/oauth2) has the names
 * of its other APIs, and goes through the tunnel as all that customers use for identity does. So does a customer's own data (windows.net, appdomain.cloud).
 */
const SUFFIXES: readonly string[] = [
  ".amazonaws.com",
  ".c2s.ic.gov",
  ".hci.ic.gov",
  ".sc2s.sgov.gov",
  ".microsoftonline.com",
  ".azure.com",
  ".cloud.ibm.com",
  ".amazonaws.com.cn",
  ".api.aws",
  ".microsoftonline.us",
  ".usgovcloudapi.net",
  ".chinacloudapi.cn",
  ".partner.microsoftonline.cn",
];

export function isCloudApi(host: string, exclude: ReadonlySet<string>): boolean {
  const name = canonicalName(host);
  return !exclude.has(name) && SUFFIXES.some((suffix) => name.endsWith(suffix));
}

export function canonicalName(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
