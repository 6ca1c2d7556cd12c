import type { Origin } from "../../support/processes/executables.js";
import type { FrontendKind } from "../../support/processes/server.js";
import type { Tunnel } from "../../support/processes/tunnel.js";

/** Who plays which part, and by which frontend callers come in. */
export interface Pairing {
  readonly server: Origin;
  readonly agent: Origin;
  readonly frontend: FrontendKind;
}

/** What every chapter of the story gets: the tunnel is up when its tests run. */
export interface PairingFixture {
  readonly pairing: Pairing;
  readonly tunnel: () => Tunnel;
}

export function titleOf({ server, agent, frontend }: Pairing): string {
  return `${frontend}: server ${server}, agent ${agent}`;
}

/** Half-close exists only where every hop can express it: two drawbridge ends, and a caller on a socket of its own. */
export function carriesHalfClose({ server, agent, frontend }: Pairing): boolean {
  return server === "ours" && agent === "ours" && frontend !== "grpc-uds";
}

/** How long a caller may be left in the dark about an end that already happened; far below any timeout, even when busy. */
export const PROMPTLY_MS = 12_000;
