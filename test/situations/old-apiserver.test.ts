/** A kube-apiserver before about 1.29 names the socket path, slashes and all, as `:authority`. */
import { afterEach, expect, test } from "vitest";
import { waitUntil } from "../support/processes/deadline.js";
import { END_HEADERS, FrameType, fields, frame, framePeer } from "./house/frames.js";
import { type House, openHouse } from "./house/house.js";

let house: House | undefined;
afterEach(() => house?.close());

test("is served like any other", async () => {
  house = await openHouse({ agents: 0 });
  const peer = await framePeer(house, "caller");
  const head = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/ProxyService/Proxy",
    ":authority": "/etc/kubernetes/konnectivity-server/konnectivity-server.socket",
    "content-type": "application/grpc",
    "user-agent": "grpc-go/1.54.0",
    te: "trailers",
  };
  peer.write(frame(FrameType.HEADERS, END_HEADERS, 1, fields(head)));
  await waitUntil("the call to be answered", () => peer.received.some(({ stream }) => stream === 1));
  expect(peer.received.filter(({ stream }) => stream === 1)).toEqual([{ type: FrameType.HEADERS, stream: 1 }]);
  peer.socket.destroy();
});
