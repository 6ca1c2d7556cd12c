/** What a sidecar's admin API shows of clients that have no connection yet, and of those that never got one. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import type { ClientLimits } from "../../../tunnel/sidecar/config.js";
import { RouteError } from "../../../tunnel/sidecar/routing/errors.js";
import { openTarget, readAll, readExactly, startSidecarFixture } from "../../../tunnel/sidecar/testing/fixture.js";
import { ObservedSidecar } from "./sidecar.js";

const PATIENT = { timeout: 10_000 };
const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

async function watched(limits: Partial<ClientLimits> = {}) {
  const fixture = await startSidecarFixture("http", limits);
  const subject = new ObservedSidecar(fixture.sidecar);
  subject.remember();
  const says = async (words: string): Promise<Socket> => {
    const client = await fixture.client();
    client.write(words);
    return client;
  };
  return {
    ...{ fixture, subject, says },
    asks: (target: string) => says(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`),
    rows: () => [...subject.tunnels()].map((tunnel) => tunnel.describe()),
  };
}

/** Holds dials back until it is opened. */
function barrier(router: Awaited<ReturnType<typeof watched>>["fixture"]["router"]): () => void {
  const { open } = router;
  let lift = (): void => {};
  const lifted = new Promise<void>((resolve) => {
    lift = resolve;
  });
  vi.spyOn(router, "open").mockImplementation(async (target, stop) => {
    await lifted;
    return open(target, stop);
  });
  return lift;
}

describe("a client whose target is being dialled", () => {
  test("is listed, and keeps its number when the connection is open", async () => {
    const { fixture, subject, asks, rows } = await watched();
    const lift = barrier(fixture.router);
    const port = await openTarget((socket) => socket.resume());
    const client = await asks(`127.0.0.1:${port}`);
    await expect.poll(rows, PATIENT).toHaveLength(1);
    const [dialling] = rows();
    expect(dialling).toMatchObject({
      ...{ id: 1, state: "dialing", frontend: "connect", listener: "http", target: `127.0.0.1:${port}` },
      ...{ bytesToTarget: 0, queuedBytes: 0, marks: { dialled: expect.any(Number) } },
    });
    expect(dialling!.marks.answered).toBeUndefined();
    expect(subject.totals()).toMatchObject({ dialsPending: 1, tunnelsOpen: 0 });
    lift();
    await readExactly(client, ESTABLISHED.length);
    const [open, ...others] = rows();
    expect(others).toEqual([]);
    expect(open).toMatchObject({ id: 1, state: "open", askedAt: dialling!.askedAt });
    expect(open!.marks.answered).toBeGreaterThanOrEqual(open!.marks.dialled!);
    expect(subject.totals()).toMatchObject({ dialsPending: 0, tunnelsOpen: 1, dialsEstablished: 1 });
  });

  test("is remembered when it hangs up, but not as refused", async () => {
    const { fixture, subject, asks, rows } = await watched();
    fixture.router.hanging = true;
    const client = await asks("db.example:5432");
    await expect.poll(rows, PATIENT).toHaveLength(1);
    client.resetAndDestroy();
    await expect.poll(() => subject.ended.count, PATIENT).toBe(1);
    expect(rows()).toEqual([]);
    expect(subject.ended.since(0)).toMatchObject([
      { id: 1, state: "failed", target: "db.example:5432", lastError: "the client hung up" },
    ]);
    expect(subject.refusals.since(0)).toEqual([]);
  });

  test("has a row, and all of them no more than there may be clients", async () => {
    const { fixture, subject, asks, rows } = await watched({ maxConnections: 3 });
    fixture.router.hanging = true;
    for (let each = 0; each < 3; each++) await asks(`db-${each}.example:5432`);
    await expect.poll(rows, PATIENT).toHaveLength(3);
    for (let each = 3; each < 6; each++) await readAll(await asks(`db-${each}.example:5432`));
    expect(rows()).toHaveLength(3);
    expect(subject.refusals.since(0).map(({ why }) => why)).toEqual(Array(3).fill(expect.stringContaining("too many")));
  });
});

describe("a client whose target cannot be reached", () => {
  test("is listed as a failed tunnel, and as a refusal with the reason", async () => {
    const { fixture, subject, asks, rows } = await watched();
    fixture.router.failure = new RouteError("refused", "DB_DIAL_FAILED", "db.example:5432 refused the connection.");
    expect(String(await readAll(await asks("db.example:5432")))).toContain("502");
    expect(rows()).toEqual([]);
    const [failed] = subject.ended.since(0);
    expect(failed).toMatchObject({ id: 1, state: "failed", target: "db.example:5432", frontend: "connect" });
    expect(failed!.lastError).toContain("refused the connection");
    expect(failed!.marks).toMatchObject({ dialled: expect.any(Number), ended: expect.any(Number) });
    expect(subject.refusals.find(failed!.refusalId!)).toMatchObject({
      ...{ target: "db.example:5432", code: "DB_DIAL_FAILED" },
      why: expect.stringMatching(/refused the connection.*DB_DIAL_FAILED: /),
    });
    expect(subject.totals()).toMatchObject({ dialsFailed: 1, dialsPending: 0 });
  });

  test("is among the refusals only when it named no target", async () => {
    const { subject, asks } = await watched();
    await readAll(await asks("no-port-at-all:x"));
    expect(subject.refusals.since(0)).toMatchObject([{ target: "", why: expect.stringContaining("CONNECT needs") }]);
    expect(subject.ended.count).toBe(0);
  });
});

describe("a plain HTTP request", () => {
  test("is listed while its target is dialled, and not while its answer is awaited", async () => {
    const { fixture, subject, says, rows } = await watched();
    fixture.router.hanging = true;
    const client = await says("GET http://web.example/ HTTP/1.1\r\nHost: web.example\r\n\r\n");
    await expect
      .poll(rows, PATIENT)
      .toMatchObject([{ state: "dialing", frontend: "forward", target: "web.example:80" }]);
    client.destroy();
    await expect.poll(() => subject.ended.count, PATIENT).toBe(1);

    fixture.router.hanging = false;
    const requests: Socket[] = [];
    const port = await openTarget((socket) => socket.once("data", () => requests.push(socket)));
    const answered = readAll(
      await says(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    );
    await expect.poll(() => requests.length, PATIENT).toBe(1);
    expect(rows()).toEqual([]);
    requests[0]!.end("HTTP/1.1 204 No Content\r\n\r\n");
    expect(String(await answered)).toContain("204");
    expect(subject.ended.count).toBe(1);
  });

  test("over a kept connection is not listed, whatever its outcome", async () => {
    const { fixture, subject, says, rows } = await watched();
    const answers = ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200 O\u0001K\r\nContent-Length: 0\r\n\r\n"];
    const port = await openTarget((socket) => socket.on("data", () => socket.write(answers.shift() ?? "")));
    const words = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    expect(String(await readAll(await says(words)))).toContain("204");
    expect(String(await readAll(await says(words)))).toContain("502");
    expect(fixture.router.opened).toHaveLength(1);
    expect(subject.refusals.since(0)).toMatchObject([{ target: `127.0.0.1:${port}`, code: "DB_HTTP_ANSWER" }]);
    expect([rows(), subject.ended.count]).toEqual([[], 0]);
  });

  test("for an upgrade is dialing until the target agrees, and keeps its number", async () => {
    const { subject, says, rows } = await watched();
    const requests: Socket[] = [];
    const port = await openTarget((socket) => socket.once("data", () => requests.push(socket)));
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    const words = `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n${upgrade}`;
    const client = await says(words);
    await expect.poll(() => requests.length, PATIENT).toBe(1);
    expect(rows()).toMatchObject([{ id: 1, state: "dialing", frontend: "upgrade" }]);
    requests[0]!.write(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}`);
    await readExactly(client, 12);
    expect(rows()).toMatchObject([{ id: 1, state: "open", frontend: "upgrade" }]);
    client.resetAndDestroy();
    await expect.poll(rows, PATIENT).toEqual([]);

    // Whoever leaves before that is not waited for.
    const impatient = await says(words);
    await expect.poll(() => requests.length, PATIENT).toBe(2);
    expect(rows()).toHaveLength(1);
    impatient.resetAndDestroy();
    await expect.poll(() => subject.ended.count, PATIENT).toBe(2);
    expect(rows()).toEqual([]);
    expect(subject.ended.since(1)).toMatchObject([{ id: 2, state: "failed", frontend: "upgrade" }]);
    expect(subject.totals().dialsPending).toBe(0);
  });

  test("for an upgrade is removed when its client hangs up", async () => {
    const { fixture } = await watched();
    const { handler } = fixture.sidecar.listeners[0]!;
    const client = new PassThrough();
    await handler.dial(
      handler.requestFor("upgrade", { host: "10.0.0.1", port: 80 }),
      client,
      async () => new PassThrough(),
    );
    expect(handler.dials.size).toBe(1);
    client.destroy();
    await once(client, "close");
    expect(handler.dials.size).toBe(0);
  });
});
