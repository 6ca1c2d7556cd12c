/** A kube-apiserver before about 1.29 names the socket path, slashes and all, as `:authority`. */
import { afterEach, expect, test } from "vitest";
import { waitUntil } from "../support/processes/deadline.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { END_HEADERS, FrameType, fields, frame, framePeer } from "./fixture/frames.js";

let fixture: Fixture | undefined;
afterEach(() => fixture?.close());

test("is served like any other", async () => {
  fixture = await openFixture({ agents: 0 });
  const peer = await framePeer(fixture, "caller");
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
