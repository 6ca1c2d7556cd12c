/** Performs what a pass decided, on the condition that nothing changed since, and only while this replica leads. */
import { isConflict, isNotFound } from "../../kube/errors.js";
import { find } from "../../kube/find.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Write } from "../pool/secrets.js";
import { collectionPath, type Kind, objectPath } from "./paths.js";

/** Another replica took over: whatever is left to do is its business. */
export class LeadershipLost extends Error {
  constructor() {
    super("another replica leads now");
  }
}

export class Writer {
  readonly #api: KubeApi;
  readonly #leading: () => boolean;

  constructor(api: KubeApi, leading: () => boolean) {
    this.#api = api;
    this.#leading = leading;
  }

  /** As the API has it afterwards; undefined when it is gone. */
  async perform({ object, verb }: Write): Promise<KubeObject | undefined> {
    this.#mustLead();
    if (verb === "create") {
      return this.#api.create(collectionPath(object.kind as Kind, object.metadata?.namespace ?? ""), object);
    }
    if (verb === "update") return this.#api.update(objectPath(object), object);
    await this.delete(object);
    return undefined;
  }

  /** What is gone already is as it should be. */
  async delete(object: KubeObject): Promise<void> {
    this.#mustLead();
    const resourceVersion = object.metadata?.resourceVersion;
    try {
      await this.#api.delete(objectPath(object), resourceVersion === undefined ? {} : { resourceVersion });
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  async updateStatus<T extends KubeObject>(object: T): Promise<void> {
    this.#mustLead();
    try {
      await this.#api.update(`${objectPath(object)}/status`, object);
    } catch (reason) {
      if (!isNotFound(reason)) throw reason;
    }
  }

  /** Asks the API itself: a copy that lags behind must not make us delete what is needed. */
  async isGone(path: string): Promise<boolean> {
    return (await find(this.#api, path)) === undefined;
  }

  #mustLead(): void {
    if (!this.#leading()) throw new LeadershipLost();
  }
}

/** Somebody else wrote in between, or our copy is behind: no trouble, the next pass sees it. */
export function isOutdated(reason: unknown): boolean {
  return isConflict(reason);
}
