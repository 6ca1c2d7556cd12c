import { join } from "node:path";
import type { TestPki } from "../../../test/support/processes/certs.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { type ProcessOptions, startProcess } from "../../../test/support/processes/process.js";
import { Ends } from "../ends.js";
import type { Kind, Tunnel } from "../tunnel.js";

/** Programs that are used twice: near the caller as a client of TLS, near the target as its server. */
const KIND: Kind = {
  direction: "forward",
  connections: "one for each caller",
  encryption: "TLS 1.3, AES-128-GCM",
  authentication: "certificates, both ends",
  entrance: "Unix socket",
  targets: "one, from the configuration",
};

/** Of TLS 1.3, the one that upstream and drawbridge agree on as well. */
export const SUITE = "TLS_AES_128_GCM_SHA256";

export interface Hops {
  readonly dir: string;
  readonly pki: TestPki;
  /** Where the driver comes in. */
  readonly socket: string;
  /** Where the far end takes TLS. */
  readonly link: string;
  readonly target: string;
}

export interface Configured {
  readonly near: ProcessOptions;
  readonly far: ProcessOptions;
}

export const twice = (
  about: Pick<Tunnel, "name" | "title" | "problem" | "version">,
  configure: (hops: Hops) => Configured,
): Tunnel => ({
  ...about,
  kind: KIND,
  async start(scope, { pki, target }) {
    const dir = scope.tempDir();
    const socket = join(dir, "in.sock");
    const hops = { dir, pki, socket, link: `127.0.0.1:${await freePort()}`, target: target.address };
    const { near, far } = configure(hops);
    const route = { frontend: "direct", address: socket, target: target.address } as const;
    return scope.use(await Ends.start(route, scope.use(startProcess(near)), far));
  },
});
