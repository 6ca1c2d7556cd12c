/** A tunnel that leads wherever a test says: addresses to local ports, or to refusals. */
import type { connect } from "node:net";
import type { Dialer } from "../../../client/dial.js";
import { type DialOptions, DialRefusedError } from "../../../client/errors.js";
import { connectTcp } from "../direct.js";

export interface FakeTunnel extends Dialer {
  /** `address` or `address (name)` of every dial so far. */
  readonly dialled: string[];
  /** Where an address leads: a port of this host, or an error. Others are refused. */
  readonly routes: Map<string, number | Error>;
  /** Everything fails with this while it is set. */
  down: Error | undefined;
}

export function fakeTunnel(routes: Readonly<Record<string, number | Error>> = {}): FakeTunnel {
  const tunnel: FakeTunnel = {
    dialled: [],
    routes: new Map(Object.entries(routes)),
    down: undefined,
    async dial(address: string, { name, signal }: DialOptions = {}) {
      tunnel.dialled.push(name === undefined ? address : `${address} (${name})`);
      if (tunnel.down !== undefined) throw tunnel.down;
      const route = tunnel.routes.get(address);
      if (route instanceof Error) throw route;
      if (route === undefined) throw new DialRefusedError(address, `dial tcp ${address}: connection refused`, 502);
      const stream = await connectTcp({ host: "127.0.0.1", port: route }, signal ?? new AbortController().signal);
      return stream as ReturnType<typeof connect>;
    },
  };
  return tunnel;
}
