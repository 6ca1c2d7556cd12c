import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { acceptFirst } from "./accept-first.js";

const CLIENTS = 60;

test("the last client of a burst is served before most that came before it, and all are served", async () => {
  const served: string[] = [];
  const server = createServer((request, response) => {
    served.push(request.url!);
    response.end();
  });
  acceptFirst(server, () => true);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  await Promise.all(
    Array.from({ length: CLIENTS }, (_, index) => {
      const client = connect(port, "127.0.0.1").resume();
      client.write(`GET /${index} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return once(client, "close");
    }),
  );
  expect(served.toSorted()).toEqual(Array.from({ length: CLIENTS }, (_, index) => `/${index}`).toSorted());
  expect(served.indexOf(`/${CLIENTS - 1}`)).toBeLessThan(CLIENTS / 2);
});

test("a client that is not admitted is not served", async () => {
  const server = createServer((_request, response) => response.end());
  acceptFirst(server, (socket) => {
    socket.destroy();
    return false;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").resume();
  client.on("error", () => {});
  let received = 0;
  client.on("data", (bytes: Buffer) => {
    received += bytes.length;
  });
  client.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  await once(client, "close");
  expect(received).toBe(0);
});
