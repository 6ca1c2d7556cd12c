import { describe, expect, test } from "vitest";
import {
  echo,
  openTarget,
  readAll,
  readExactly,
  startSidecarFixture,
} from "../../../tunnel/sidecar/testing/fixture.js";
import { ObservedSidecar } from "./sidecar.js";

const PATIENT = { timeout: 10_000 };

async function watched() {
  const fixture = await startSidecarFixture("http");
  const subject = new ObservedSidecar(fixture.sidecar);
  subject.remember();
  return { fixture, subject, rows: () => [...subject.tunnels()].map((tunnel) => tunnel.describe()) };
}

async function connectThrough(fixture: Awaited<ReturnType<typeof watched>>["fixture"], target: string) {
  const client = await fixture.client();
  client.write(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return client;
}

describe("a sidecar's admin API", () => {
  test("shows a client joined with its target, and how it ended", async () => {
    const { fixture, subject, rows } = await watched();
    const port = await openTarget(echo);
    const client = await connectThrough(fixture, `127.0.0.1:${port}`);
    await readExactly(client, "HTTP/1.1 200 Connection established\r\n\r\n".length);
    client.write("ping");
    await readExactly(client, 4);
    const [row] = rows();
    expect(row).toMatchObject({
      ...{ id: 1, frontend: "connect", listener: "http", target: `127.0.0.1:${port}`, state: "open" },
      ...{ bytesToTarget: 4, bytesFromTarget: 4, queuedBytes: 0 },
    });
    expect(Math.abs(row!.askedAt - Date.now())).toBeLessThan(60_000);
    expect(row!.marks.firstByteFromTarget).toBeGreaterThanOrEqual(row!.marks.answered!);
    expect(subject.totals()).toMatchObject({ tunnelsOpen: 1, bytesToTarget: 4, dialsEstablished: 1 });
    client.end();
    client.resume();
    await expect.poll(() => subject.ended.count, PATIENT).toBe(1);
    expect(subject.ended.since(0)[0]).toMatchObject({ id: 1, state: "closed", endReason: "both ends closed" });
    expect(rows()).toEqual([]);
  });

  test("closes a connection on request", async () => {
    const { fixture, subject, rows } = await watched();
    const port = await openTarget((socket) => socket.resume());
    const client = await connectThrough(fixture, `127.0.0.1:${port}`);
    // A reset that overtakes unread bytes looks like an orderly end to Node.
    await readExactly(client, "HTTP/1.1 200 Connection established\r\n\r\n".length);
    client.on("error", () => {}).resume();
    expect(rows()).toMatchObject([{ id: 1, state: "open" }]);
    // The reset that it ends with is an error, too.
    const gone = new Promise((resolve) => client.once("close", resolve));
    for (const tunnel of subject.tunnels()) expect(tunnel.close("closed by an operator")).toBe(true);
    await gone;
    await expect.poll(() => subject.ended.count, PATIENT).toBe(1);
    expect(subject.ended.since(0)[0]).toMatchObject({ lastError: "closed by an operator" });
    expect([...subject.tunnels()]).toEqual([]);
  });

  test("keeps why a request was refused", async () => {
    const { fixture, subject } = await watched();
    const client = await connectThrough(fixture, "no-port-at-all:x");
    await readAll(client);
    const [refusal] = subject.refusals.since(0);
    expect(refusal?.why).not.toBe("");
    expect(subject.totals()).toMatchObject({ dialsFailed: 1, tunnelsOpen: 0 });
    expect(subject.process()).toMatchObject({ role: "sidecar" });
  });
});
