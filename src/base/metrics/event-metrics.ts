import { Subscriptions } from "../channel.js";
import { processMetrics } from "./process-metrics.js";
import { MetricsRegistry } from "./registry.js";

/** The metrics of one server, agent or sidecar, with the subscriptions that count its events. */
export class EventMetrics extends Subscriptions {
  readonly registry = new MetricsRegistry();

  constructor(source: object) {
    super(source);
    processMetrics(this.registry);
  }
}
