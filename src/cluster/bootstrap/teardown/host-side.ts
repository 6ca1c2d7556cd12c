/** The host's side of a teardown: this host's own, or that of one which is reached over SSH. */
import type { Host } from "../host/host.js";
import type { Opened } from "../host/opened.js";
import type { BridgeModel } from "../model/model.js";
import { type Removed, removeHostThing } from "./host-things.js";
import type { Limit } from "./limit.js";
import { type Release, type ReleaseInput, releaseApiServer } from "./release.js";

export interface RemovedThing extends Removed {
  readonly thing: Opened;
}

export interface HostSide {
  /** Before all else: the kube-apiserver lets go. */
  release(): Promise<Release>;
  /** Server first, directories after what is in them. */
  remove(): AsyncIterable<RemovedThing>;
  /** Whether it is unknown what is left there. */
  readonly isUnknown: boolean;
  /** What only somebody else can see to; one sentence each. */
  readonly notes: readonly string[];
}

export function thisHostSide(input: ReleaseInput, things: readonly Opened[]): HostSide {
  const { host, model, limit } = input;
  return {
    release: () => releaseApiServer(input),
    remove: () => removeInTurn(host, model, things, limit),
    isUnknown: false,
    notes: [],
  };
}

async function* removeInTurn(host: Host, model: BridgeModel, things: readonly Opened[], limit: Limit) {
  for (const thing of things) yield { thing, ...(await removeHostThing(host, model, thing, limit)) };
}
