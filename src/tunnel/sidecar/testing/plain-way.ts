/** A way without a tunnel: plain TCP from here, with the same promises about what it rejects with. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import type { OpenWay } from "../way/open-way.js";
import { type Hindrance, type Target, WayError } from "../way.js";

const HINDRANCES: Record<string, Hindrance> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "name",
  ENETUNREACH: "network",
  EHOSTUNREACH: "host",
};

export interface PlainWay extends OpenWay {
  /** Everything that was opened, in order. */
  readonly opened: { readonly target: Target; readonly socket: Socket }[];
  /** What the next dials reject with, instead of dialling. */
  failure: WayError | undefined;
  /** Dials hang until this is set to false or they are stopped. */
  hanging: boolean;
  /** How many dials began. */
  dials: number;
  /** How many of them were stopped from outside. */
  stopped: number;
}

export function plainWay(): PlainWay {
  const way: PlainWay = {
    opened: [],
    failure: undefined,
    hanging: false,
    dials: 0,
    stopped: 0,
    open: (target, stop) => dial(way, target, stop),
    wayForHttp: (target) => ({
      key: joinHostPort(target.host, target.port),
      form: "origin",
      proxyAuthorization: undefined,
      open: (stop) => dial(way, target, stop),
    }),
    probe: async () => {},
    close: () => {},
  };
  return way;
}

async function dial(way: PlainWay, target: Target, stop: AbortSignal): Promise<Socket> {
  way.dials++;
  if (way.failure !== undefined) throw way.failure;
  if (way.hanging) {
    await once(stop, "abort");
    way.stopped++;
    throw stop.reason;
  }
  const socket = connect({ ...target, allowHalfOpen: true, noDelay: true });
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal: stop });
  } catch (reason) {
    const hindrance = HINDRANCES[(reason as NodeJS.ErrnoException).code ?? ""] ?? "host";
    throw new WayError(hindrance, "DB_DIAL_FAILED", `no connection to ${joinHostPort(target.host, target.port)}.`);
  }
  way.opened.push({ target, socket });
  return socket;
}
