import { requirePeer } from "../../peers/index.js";
import type { CertFiles } from "../../test/support/processes/certs.js";
import { startProcess } from "../../test/support/processes/process.js";
import type { Scope } from "../../test/support/processes/scope.js";

/** The load generator's path; undefined (with one line that says why) where it is not built. */
export const loadgenPath = (): string | undefined => requirePeer("loadgen");

export function loadgen(): string {
  const path = loadgenPath();
  if (path === undefined) throw new Error("loadgen is missing: run npm run peers -- loadgen (needs Go).");
  return path;
}

export interface Listening {
  /** `host:port`, or the path of a socket. */
  readonly address: string;
  readonly pid: number;
}

/** The endpoint behind every tunnel: source, sink, echo and a party that stops reading. */
export const startTarget = (scope: Scope): Promise<Listening> => start(scope, "target", []);

/** One hop of the plain relay. */
export function startRelay(scope: Scope, from: string, to: string, certs: CertFiles): Promise<Listening> {
  const identity = [`--cert=${certs.cert}`, `--key=${certs.key}`, `--ca=${certs.ca}`];
  return start(scope, "relay", [`--listen=${from}`, `--to=${to}`, ...identity]);
}

async function start(scope: Scope, command: string, args: readonly string[]): Promise<Listening> {
  const name = `loadgen ${command}`;
  const process = scope.use(startProcess({ name, command: loadgen(), args: [command, ...args] }));
  const [, address = ""] = await process.log.waitFor(/listening (\S+)/, 10_000);
  return { address, pid: process.pid };
}
