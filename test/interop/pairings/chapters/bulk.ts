import { expect, test } from "vitest";
import { payload, readLine, readToEnd, sha256 } from "../../../support/callers/bytes.js";
import { forSink, GO, startSink, startSource } from "../../../support/targets/bulk.js";
import type { PairingFixture } from "../pairing.js";

const SIZE = 20 * 1024 * 1024;
const WITHIN_MS = 60_000;

export function bulk({ tunnel }: PairingFixture): void {
  test(
    "carries 20 MiB from the endpoint, checksum intact",
    async () => {
      const bytes = payload("download", SIZE);
      const source = await startSource(bytes);
      try {
        const socket = await tunnel().open(source.address);
        socket.write(GO);
        const { bytes: received } = await readToEnd(socket, WITHIN_MS);
        socket.destroy();
        expect(received.length).toBe(SIZE);
        expect(sha256(received)).toBe(sha256(bytes));
      } finally {
        await source.close();
      }
    },
    WITHIN_MS,
  );

  test(
    "carries 20 MiB to the endpoint, checksum intact",
    async () => {
      const bytes = payload("upload", SIZE);
      const sink = await startSink();
      try {
        const socket = await tunnel().open(sink.address);
        socket.write(forSink(bytes));
        expect(await readLine(socket, WITHIN_MS)).toBe(sha256(bytes));
        socket.destroy();
      } finally {
        await sink.close();
      }
    },
    WITHIN_MS,
  );

  test(
    "carries both directions at once without either waiting for the other",
    async () => {
      const [down, up] = [payload("down", SIZE / 4), payload("up", SIZE / 4)];
      const [source, sink] = [await startSource(down), await startSink()];
      try {
        const [reading, writing] = [await tunnel().open(source.address), await tunnel().open(sink.address)];
        reading.write(GO);
        writing.write(forSink(up));
        const [received, line] = await Promise.all([readToEnd(reading, WITHIN_MS), readLine(writing, WITHIN_MS)]);
        expect(sha256(received.bytes)).toBe(sha256(down));
        expect(line).toBe(sha256(up));
        reading.destroy();
        writing.destroy();
      } finally {
        await Promise.all([source.close(), sink.close()]);
      }
    },
    WITHIN_MS,
  );
}
