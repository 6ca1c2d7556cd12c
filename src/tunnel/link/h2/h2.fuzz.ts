/** A million inputs to each decoder of the HTTP/2 layer (npm run fuzz). */
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, test } from "vitest";
import { frame, PREFACE, SessionError, settings } from "./frames.js";
import { HeaderDecoder } from "./hpack.js";
import { Session } from "./session.js";

const RUNS = 1_000_000;

describe("a million random inputs", () => {
  test("to the header decoder", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          new HeaderDecoder().decode(Buffer.from(bytes));
        } catch (error) {
          if (!(error instanceof SessionError)) throw error;
        }
      }),
      { numRuns: RUNS },
    );
  });

  test("to a session, as frames and as noise", async () => {
    const frames = fc
      .tuple(fc.nat(10), fc.nat(255), fc.nat(3), fc.uint8Array({ maxLength: 20 }))
      .map(([type, flags, id, payload]) => frame(type, flags, id, Buffer.from(payload)));
    const noise = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
    const greeting = Buffer.concat([PREFACE, settings([])]);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(frames, noise), fc.oneof(frames, noise), async (first, second) => {
        const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
        const onStream = (): void => {};
        new Session(socket, { isServer: true, streamWindowBytes: 65_535, sessionWindowBytes: 65_535, onStream });
        for (const bytes of [greeting, first, second]) socket.emit("data", bytes);
        socket.destroy();
        // What was destroyed is let go of only when the turn ends.
        if (++runs % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }),
      { numRuns: RUNS },
    );
  });
});
