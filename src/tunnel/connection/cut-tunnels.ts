/** The tunnels of a process that ends while they are open. */
import type { Runtime } from "../../base/runtime.js";
import type { Tunnel } from "./tunnel.js";

/** How long their last bytes may take, towards the far ends and again towards the near ones. */
export const CUT_WITHIN_MS = 1_000;

const LOOK_MS = 10;
/** Bytes that the network takes at once are gone after these. */
const TURNS = 20;

/** Cuts them at both ends, and waits until their links have sent everything. */
export async function cutTunnels(
  tunnels: Iterable<Tunnel>,
  reason: string,
  runtime: Runtime,
  isFlushing: () => boolean,
): Promise<void> {
  for (const tunnel of [...tunnels]) tunnel.close(reason, "cut");
  for (let turn = 0; turn < TURNS && isFlushing(); turn++) await new Promise<void>((done) => runtime.soon(done));
  const late = runtime.now() + CUT_WITHIN_MS;
  while (isFlushing() && runtime.now() < late) await new Promise<void>((done) => runtime.after(LOOK_MS, done, true));
}
