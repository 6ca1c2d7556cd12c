import { connect } from "node:net";
import { messageOf } from "../../src/base/errors/error.js";
import { within } from "../../test/support/processes/deadline.js";
import type { Place } from "../isolation/place.js";
import type { Show } from "../report/show.js";

/** From where the control plane is, without the tunnel. It must fail, or the rest would prove nothing. */
export async function callDirectly(place: Place, show: Show): Promise<void> {
  const { host, port } = place.webhook;
  const localPort = place.refusedSourcePort === undefined ? {} : { localPort: place.refusedSourcePort };
  const socket = connect({ host, port, ...localPort });
  const answer = new Promise<never>((_, reject) => {
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the connection was closed")));
  });
  const how = await within(3_000, "an end of the direct connection", answer).catch(messageOf);
  const isOpen = socket.readyState === "open";
  socket.destroy();
  if (isOpen) throw new Error(`${host}:${port} can be reached without the tunnel`);
  const manner = place.refusedSourcePort === undefined ? "fails as it must" : "is refused by the stand-in (simulated)";
  show.result(`${manner}: ${how.split(" - ")[0]}`);
}
