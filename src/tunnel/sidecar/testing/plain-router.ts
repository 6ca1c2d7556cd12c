/** A router without a tunnel: plain TCP from here, with the same promises about what it rejects with. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { type FailureKind, RouteError, type Target } from "../routing/errors.js";
import type { Router } from "../routing/router.js";

const FAILURE_KINDS: Record<string, FailureKind> = {
  ECONNREFUSED: "refused",
  ENOTFOUND: "name",
  ENETUNREACH: "network",
  EHOSTUNREACH: "host",
};

export interface PlainRouter extends Router {
  /** Everything that was opened, in order. */
  readonly opened: { readonly target: Target; readonly socket: Socket }[];
  /** What the next dials reject with, instead of dialling. */
  failure: RouteError | undefined;
  /** Dials hang until this is set to false or they are stopped. */
  hanging: boolean;
  /** How many dials began. */
  dials: number;
  /** How many of them were stopped from outside. */
  stopped: number;
}

export function plainRouter(): PlainRouter {
  const router: PlainRouter = {
    opened: [],
    failure: undefined,
    hanging: false,
    dials: 0,
    stopped: 0,
    open: (target, stop) => dial(router, target, stop),
    routeHttp: (target) => ({
      key: joinHostPort(target.host, target.port),
      form: "origin",
      proxyAuthorization: undefined,
      open: (stop) => dial(router, target, stop),
    }),
    probe: async () => {},
    close: () => {},
  };
  return router;
}

async function dial(router: PlainRouter, target: Target, stop: AbortSignal): Promise<Socket> {
  router.dials++;
  if (router.failure !== undefined) throw router.failure;
  if (router.hanging) {
    await once(stop, "abort");
    router.stopped++;
    throw stop.reason;
  }
  const socket = connect({ ...target, allowHalfOpen: true, noDelay: true });
  socket.on("error", () => {});
  try {
    await once(socket, "connect", { signal: stop });
  } catch (reason) {
    const kind = FAILURE_KINDS[(reason as NodeJS.ErrnoException).code ?? ""] ?? "host";
    throw new RouteError(kind, "DB_DIAL_FAILED", `no connection to ${joinHostPort(target.host, target.port)}.`);
  }
  router.opened.push({ target, socket });
  return socket;
}
