import type { KubeApi } from "./port.js";

/** Whether the API server is of Kubernetes 1.`minor` or later. */
export async function isAtLeast(api: Pick<KubeApi, "text">, minor: number): Promise<boolean> {
  const version = JSON.parse(await api.text("/version")) as { readonly major: string; readonly minor: string };
  // Vendors add to the number, as in 30+.
  return Number.parseInt(version.major, 10) > 1 || Number.parseInt(version.minor, 10) >= minor;
}
