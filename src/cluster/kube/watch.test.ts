import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createKubeApi } from "./client.js";
import type { KubeObject, WatchEvent } from "./port.js";
import { ApiStub, replyStatus } from "./testing/api-stub.js";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item.close();
});

/** A watch under way, its answer in the test's hands. */
async function watching(
  answer: (response: ServerResponse) => void = (response) => response.writeHead(200).flushHeaders(),
) {
  const clock = new ManualClock();
  let body: ServerResponse | undefined;
  const stub = await ApiStub.start((_, response) => {
    body = response;
    answer(response);
  });
  const api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock });
  open.push(stub, api);
  const caller = new AbortController();
  const seen: WatchEvent<KubeObject>[] = [];
  let opened = false;
  const ended = (async () => {
    const options = {
      resourceVersion: "5",
      labelSelector: "a=b",
      signal: caller.signal,
      onOpen: () => (opened = true),
    };
    for await (const event of api.watch("/things", options)) seen.push(event);
    return "ended";
  })().catch((reason: unknown) => reason);
  await eventually(() => expect(body).toBeDefined());
  return { caller, clock, ended, seen, stub, body: body!, isOpen: () => opened };
}

function line(name: string): string {
  return `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
}

describe("watch", () => {
  test("asks for bookmarks, from the given version, for a limited time", async () => {
    const { stub, isOpen } = await watching();
    const { timeoutSeconds, ...rest } = Object.fromEntries(stub.requests[0]!.query);
    expect(rest).toEqual({ watch: "true", allowWatchBookmarks: "true", resourceVersion: "5", labelSelector: "a=b" });
    expect(Number(timeoutSeconds)).toBeGreaterThanOrEqual(300);
    expect(Number(timeoutSeconds)).toBeLessThan(600);
    await eventually(() => expect(isOpen()).toBe(true));
  });

  test("yields events however the bytes are cut", async () => {
    const { body, ended, seen } = await watching();
    const bytes = Buffer.from(line("ä") + line("b") + line("c"));
    const cut = bytes.indexOf("ä") + 1;
    body.write(bytes.subarray(0, cut));
    await eventually(() => expect(body.writableLength).toBe(0));
    body.end(bytes.subarray(cut));
    expect(await ended).toBe("ended");
    expect(seen.map(({ object }) => object.metadata?.name)).toEqual(["ä", "b", "c"]);
  });

  test("ends when it falls silent, and not before", async () => {
    const { body, clock, ended, seen, isOpen } = await watching();
    await eventually(() => expect(isOpen()).toBe(true));
    await eventually(() => expect(clock.waiting).toEqual([150_000]));
    clock.advance(149_000);
    body.write(line("alive"));
    await eventually(() => expect(seen).toHaveLength(1));
    await eventually(() => expect(clock.waiting).toEqual([150_000]));
    clock.advance(149_000);
    body.write(line("still alive"));
    await eventually(() => expect(seen).toHaveLength(2));
    await eventually(() => expect(clock.waiting).toEqual([150_000]));
    clock.advance(150_000);
    expect(await ended).toBe("ended");
    expect(clock.waiting).toEqual([]);
  });

  test.each<[string, (parts: Awaited<ReturnType<typeof watching>>) => void]>([
    ["the caller calls it off", ({ caller }) => caller.abort()],
    ["the connection is reset", ({ body }) => body.socket?.resetAndDestroy()],
  ])("ends quietly when %s", async (_, act) => {
    const parts = await watching();
    parts.body.write(line("x"));
    await eventually(() => expect(parts.seen).toHaveLength(1));
    act(parts);
    expect(await parts.ended).toBe("ended");
    expect(parts.clock.waiting).toEqual([]);
  });

  test("throws what the API says went wrong", async () => {
    const refused = await watching((response) => replyStatus(response, 403, "Forbidden", "watch is forbidden"));
    expect(await refused.ended).toMatchObject({ status: 403, detail: "watch is forbidden" });
    expect(refused.isOpen()).toBe(false);

    const { body, ended } = await watching();
    body.write(`${JSON.stringify({ type: "ERROR", object: { code: 410, reason: "Expired", message: "too old" } })}\n`);
    expect(await ended).toMatchObject({ status: 410, reason: "Expired", detail: "too old" });
  });

  test("does not pass over a line it cannot read", async () => {
    const { body, ended } = await watching();
    body.write("{half\n");
    expect(await ended).toMatchObject({ message: expect.stringContaining("not JSON") });
  });

  test("does not wait for ever to be accepted", async () => {
    const { clock, ended } = await watching(() => {});
    clock.advance(30_000);
    expect(await ended).toMatchObject({ status: 0, message: expect.stringContaining("nothing came within 30 s") });
  });
});
