/** The sidecar's events as log lines; what processes of all roles say is added by logEvents. */
import { Subscriptions } from "../../base/channel.js";
import { remedies } from "../../base/errors/catalogue.js";
import type { Logger } from "../../base/log/log.js";
import { PacedLog } from "../../base/log/paced-log.js";
import { connectionClosed, fallbackChanged, probeEnded, requestDecided } from "./channels.js";

/** klog levels: nothing that happens for every connection may be below 5, which is more than the default. */
const DETAIL = 4;
const EVERY_CONNECTION = 5;

/** Writes lines for the events of `source` until the function that it returns is called. */
export function logSidecar(logger: Logger, source: object): () => void {
  const paced = new PacedLog(logger);
  const events = new Subscriptions(source);
  const failing = new Map<string, string>();
  events.on(requestDecided, ({ source: _, request: _request, ...event }) => {
    if (event.outcome === "established" || event.outcome === "abandoned") {
      logger.info(EVERY_CONNECTION, "connection asked for", event);
    } else if (logger.verbosity >= DETAIL) {
      paced.warn("request was not served", event);
    }
  });
  events.on(connectionClosed, ({ source: _, connection: _connection, ...event }) =>
    logger.info(EVERY_CONNECTION, "connection closed", event),
  );
  events.on(fallbackChanged, ({ listener, active, why }) => {
    if (active) logger.warn("the tunnel does not work; targets are dialled straight from here", { listener, why });
    else logger.info(1, "the tunnel works again", { listener });
  });
  // Only changes: a probe every few seconds would be all one reads.
  events.on(probeEnded, ({ listener, error, code }) => {
    const cause = code ?? "none";
    if (error !== "" && failing.get(listener) !== cause) {
      failing.set(listener, cause);
      logger.warn("the probe through the tunnel fails", {
        listener,
        error,
        ...(code && { code, remedy: remedies[code] }),
      });
    } else if (error === "" && failing.delete(listener)) {
      logger.info(1, "the probe through the tunnel works again", { listener });
    }
  });
  return () => {
    events.end();
    paced.close();
  };
}
