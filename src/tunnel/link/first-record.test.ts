import { once } from "node:events";
import net, { type AddressInfo, type Socket } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { onFirstRecord } from "./first-record.js";

/** A record of a handshake with `length` bytes. */
function record(length: number): Buffer {
  const bytes = Buffer.alloc(5 + length, 0xab);
  bytes.write("160301", "hex");
  bytes.writeUInt16BE(length, 3);
  return bytes;
}

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

async function connect(): Promise<{ client: Socket; accepted: Socket; begun: Buffer[] }> {
  const begun: Buffer[] = [];
  const server = net.createServer({ allowHalfOpen: true }, (socket) =>
    onFirstRecord(socket, () => begun.push(socket.read() as Buffer)),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = net.connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => {});
  client.setNoDelay(true);
  endings.push(
    () => client.destroy(),
    () => server.close(),
  );
  const [accepted] = (await once(server, "connection")) as [Socket];
  return { client, accepted, begun };
}

describe("A TLS session begins", () => {
  test("when the first record is whole, with every byte that arrived", async () => {
    const { client, accepted, begun } = await connect();
    const hello = record(300);
    for (const [from, to] of [
      [0, 1],
      [1, 5],
      [5, 6],
      [6, 304],
    ]) {
      client.write(hello.subarray(from, to));
      await eventually(() => expect(accepted.bytesRead).toBe(to));
      expect(begun).toEqual([]);
    }
    client.write(Buffer.concat([hello.subarray(304), Buffer.from("more")]));
    await eventually(() => expect(Buffer.concat(begun)).toEqual(Buffer.concat([hello, Buffer.from("more")])));
  });

  test("at once when what arrived is not TLS, so that its refusal can say so", async () => {
    const { client, begun } = await connect();
    client.write("GET / HTTP/1.1\r\n");
    await eventually(() => expect(String(begun[0])).toBe("GET / HTTP/1.1\r\n"));
  });

  test("when a first record that is too long to wait for has sent its first part", async () => {
    const { client, begun } = await connect();
    client.write(record(0xffff).subarray(0, 10_000));
    await eventually(() => expect(begun[0]?.length).toBeGreaterThanOrEqual(8_192));
  });

  test("never for a client that leaves in the middle of its first record", async () => {
    const { client, accepted, begun } = await connect();
    client.end(record(300).subarray(0, 200));
    await eventually(() => expect(accepted.destroyed).toBe(true));
    expect(begun).toEqual([]);
  });

  test("never for a client that resets the connection", async () => {
    const { client, accepted, begun } = await connect();
    client.resetAndDestroy();
    await eventually(() => expect(accepted.destroyed).toBe(true));
    expect(begun).toEqual([]);
  });
});
