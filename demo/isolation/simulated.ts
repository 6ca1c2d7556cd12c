import { freePorts } from "../../test/support/processes/ports.js";
import type { Place } from "./place.js";

/** Everything on loopback; nothing but the webhook's own refusal separates it from the caller. */
export async function makeSimulatedPlace(): Promise<Place> {
  const [port, refusedSourcePort] = (await freePorts(2)) as [number, number];
  return {
    serverHost: "127.0.0.1",
    webhook: { host: "127.0.0.1", port },
    far: (argv) => [...argv],
    refusedSourcePort,
  };
}
