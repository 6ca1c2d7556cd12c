/** A kube-apiserver before about 1.29 names the socket path, slashes and all, as `:authority`; HTTP/2 in Node refuses it. */
import { afterEach, expect, test } from "vitest";
import { note } from "../../src/observe/channels.js";
import { waitUntil } from "../support/processes/deadline.js";
import { END_HEADERS, FrameType, fields, frame, framePeer } from "./house/frames.js";
import { type House, openHouse } from "./house/house.js";

let house: House | undefined;
afterEach(() => house?.close());

test("is told about once, with the way out", async () => {
  house = await openHouse({ agents: 0 });
  const warnings: string[] = [];
  const unsubscribe = note.subscribe(({ message }) => warnings.push(message), house.server);
  try {
    for (let caller = 0; caller < 2; caller++) {
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
      await waitUntil("the call to be refused", () => peer.received.some(({ type }) => type === FrameType.RST_STREAM));
      peer.socket.destroy();
    }
    await waitUntil("the warning", () => warnings.length > 0);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/older than about 1\.29.*HTTPConnect/s);
  } finally {
    unsubscribe();
  }
});
