/** The sidecar's events as log lines; what processes of all roles say is added by logEvents. */
import type { Logger } from "../observe/log.js";
import { Pace } from "../observe/pace.js";
import { connectionClosed, fallbackChanged, probeEnded, wishDecided } from "./channels.js";

/** klog levels: nothing that happens for every connection may be below 5, which is more than the default. */
const DETAIL = 4;
const EVERY_CONNECTION = 5;

/** Troubles can come by the thousand; after the first hundred, twenty lines a second say as much. */
const TROUBLE_BURST = 100;
const TROUBLES_PER_SECOND = 20;

/** Until the answer is called. */
export function logSidecar(logger: Logger, source: object): () => void {
  const pace = new Pace(TROUBLE_BURST, TROUBLES_PER_SECOND, () => performance.now());
  const failing = new Set<string>();
  const endings = [
    wishDecided.subscribe(({ source: _, ...event }) => {
      if (event.outcome === "established" || event.outcome === "abandoned") {
        logger.info(EVERY_CONNECTION, "connection asked for", event);
      } else if (logger.verbosity >= DETAIL) {
        pace.try((heldBack) => {
          logger.warn("request was not served", { ...event, ...(heldBack > 0 && { similarLinesLeftOut: heldBack }) });
        });
      }
    }, source),
    connectionClosed.subscribe(({ source: _, ...event }) => {
      logger.info(EVERY_CONNECTION, "connection closed", event);
    }, source),
    fallbackChanged.subscribe(({ listener, active, why }) => {
      if (active) logger.warn("the tunnel does not work; targets are dialled straight from here", { listener, why });
      else logger.info(1, "the tunnel works again", { listener });
    }, source),
    // Only changes: a probe every few seconds would be all one reads.
    probeEnded.subscribe(({ listener, error, code }) => {
      if (error !== "" && !failing.has(listener)) {
        failing.add(listener);
        logger.warn("the probe through the tunnel fails", { listener, error, code });
      } else if (error === "" && failing.delete(listener)) {
        logger.info(1, "the probe through the tunnel works again", { listener });
      }
    }, source),
  ];
  return () => {
    for (const end of endings.splice(0)) end();
  };
}
