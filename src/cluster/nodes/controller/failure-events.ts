/** Failures of passes as events on the pools, as HyperShift's operator makes them. */
import { messageOf } from "../../../base/errors/error.js";
import type { KubeApi } from "../../kube/port.js";
import { eventAbout, eventsPath } from "../event.js";
import type { NodePool } from "../pool/node-pool.js";
import { CONTROLLER_NAME } from "./name.js";
import { typed } from "./paths.js";

export interface FailureEventsOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly now?: () => number;
  readonly onError: (sentence: string) => void;
}

/** Nobody waits for them: an API that is away has more to lose than an event. */
export function failureEvents({ api, namespace, now = Date.now, onError }: FailureEventsOptions) {
  return (pool: NodePool, sentence: string): void => {
    const failure = { type: "Warning", reason: "ReconcileError", message: sentence } as const;
    const event = eventAbout(typed("NodePool", pool), failure, CONTROLLER_NAME, now());
    api
      .create(eventsPath(namespace), event)
      .catch((reason: unknown) => onError(`an event was not written: ${messageOf(reason)}`));
  };
}
