/** A worker's user data as it would be made now: with its pool's configuration and token of this moment. */
import type { KubeApi } from "../../kube/port.js";
import { ensureTokens } from "./own-tokens.js";
import { poolUserData } from "./pool-user-data.js";
import type { Worker } from "./worker.js";
import { type Tailoring, workerUserData } from "./worker-user-data.js";

export interface FreshUserData {
  readonly hash: string;
  readonly text: string;
}

/** Tailored as it was made, unless something else is said now. */
export async function freshUserData(
  api: KubeApi,
  worker: Worker,
  said: Partial<Pick<Tailoring, "ignitionAddress" | "setHostname">> = {},
): Promise<FreshUserData> {
  const { ignitionAddress = "", name, ownToken, setHostname = true } = worker;
  const [namespace = "", pool = ""] = worker.pool.split("/");
  const owner = { namespace, name: pool };
  const token = ownToken ? (await ensureTokens(api, owner, [name])).get(name) : undefined;
  const { hash, text } = await poolUserData(api, owner);
  return { hash, text: workerUserData(text, { name, token, setHostname, ignitionAddress, ...said }) };
}
