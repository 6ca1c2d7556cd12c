/** Many callers on one connection: grpc-go keeps to the number of streams that the server announces. */
import type { Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { MAX_CALLER_STREAMS } from "../../src/tunnel/link/tuning.js";
import { openFixture } from "../processes/fixture/fixture.js";
import { readExactly } from "../support/callers/bytes.js";
import { startGrpcDialer } from "../support/callers/grpc-dialer.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable, theirs } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";
import { startEcho } from "../support/targets/echo.js";

const scope = new Scope();
afterEach(() => scope.close());

const LATECOMERS = 20;

async function says(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return String(await readExactly(socket, text.length));
}

test.skipIf(!peersAvailable("grpc-dialer"))(
  "grpc-go's callers share a connection up to the bound, and wait beyond it until one has left",
  async () => {
    const fixture = await openFixture();
    scope.use(fixture);
    const echo = await startEcho();
    scope.use(echo);
    const dialer = await startGrpcDialer(scope, theirs("grpc-dialer"), fixture.grpcPath, ["--share"]);
    const dial = async (): Promise<Socket> => {
      const answer = await dialer.dial(echo.address, 120_000);
      if (typeof answer === "string") throw new Error(answer);
      scope.use({ close: () => void answer.destroy() });
      return answer;
    };
    const streams = (): number => fixture.server.readings().grpcConnections().Proxy ?? 0;

    const sockets: Socket[] = [];
    while (sockets.length < MAX_CALLER_STREAMS) {
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, dial))));
    }
    expect(streams()).toBe(MAX_CALLER_STREAMS);
    for (const [index, socket] of sockets.entries()) {
      if (index % 100 === 0) expect(await says(socket, `caller ${index}`)).toBe(`caller ${index}`);
    }

    let answered = 0;
    const latecomers = Array.from({ length: LATECOMERS }, async () => {
      const socket = await dial();
      answered++;
      return socket;
    });
    for (let ping = 0; ping < 20; ping++) expect(await says(sockets[0]!, `ping ${ping}`)).toBe(`ping ${ping}`);
    expect([answered, streams()]).toEqual([0, MAX_CALLER_STREAMS]);

    for (const socket of sockets.splice(-LATECOMERS)) socket.destroy();
    for (const socket of await Promise.all(latecomers)) expect(await says(socket, "at last")).toBe("at last");
    expect(await says(sockets[0]!, "still here")).toBe("still here");
    await waitUntil("no stream more than the bound", () => streams() <= MAX_CALLER_STREAMS);
  },
);
