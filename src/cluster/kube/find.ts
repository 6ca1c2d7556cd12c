import { isNotFound } from "./errors.js";
import type { KubeApi, KubeObject, RequestOptions } from "./port.js";

/** For what may rightly be missing: undefined when the API says so. That it could not be asked stays an error. */
export async function find<T extends KubeObject>(
  api: Pick<KubeApi, "get">,
  path: string,
  options?: RequestOptions,
): Promise<T | undefined> {
  try {
    return await api.get<T>(path, options);
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}
