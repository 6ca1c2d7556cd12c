import type { DurationHistogram } from "../../../base/metrics/histogram.js";
import type { EventCounter } from "../../../base/metrics/registry.js";
import type { LeaseRequest } from "../../../tunnel/events/channels.js";

interface LeaseCallFamilies {
  readonly total: EventCounter;
  readonly latency?: DurationHistogram;
  /** Server and agent name the label differently. */
  readonly statusLabel: string;
}

/** A listener that counts lease requests; those that got no HTTP answer are not counted, as upstream has it. */
export function leaseCalls({ total, latency, statusLabel }: LeaseCallFamilies): (request: LeaseRequest) => void {
  return ({ status, reason, durationMs }) => {
    if (status === 0) return;
    total.inc({ [statusLabel]: String(status), reason });
    latency?.observeWith({ [statusLabel]: String(status) }, durationMs / 1000);
  };
}
