import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { httpGet } from "./http-get.js";

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("httpGet resolves with the status and the body", async () => {
  const url = await serve((_, response) => response.writeHead(503).end("not yet"));
  await expect(httpGet(url)).resolves.toEqual({ status: 503, body: "not yet" });
});

test.each(["head", "body"])("httpGet rejects when the %s of the answer does not come in time", async (missing) => {
  const url = await serve((_, response) => {
    if (missing === "body") response.writeHead(200).write("begin");
  });
  await expect(httpGet(url, { timeoutMs: 50 })).rejects.toThrow("no answer within 0.05 s");
});

test("httpGet rejects an answer longer than its limit", async () => {
  const url = await serve((_, response) => response.end(Buffer.alloc(3 * 1024)));
  await expect(httpGet(url, { maxBytes: 2 * 1024 })).rejects.toThrow("the answer is longer than 2 KiB");
  await expect(httpGet(url, { maxBytes: 3 * 1024 })).resolves.toMatchObject({ status: 200 });
});

test("httpGet rejects with the caller's reason when the caller gives up", async () => {
  const url = await serve(() => {});
  const reason = new Error("the command was interrupted");
  await expect(httpGet(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
