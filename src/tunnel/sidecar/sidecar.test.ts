import { once } from "node:events";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { DEFAULT_ROUTING } from "./config.js";
import { sidecarMetrics } from "./metrics.js";
import { RouteError } from "./routing/errors.js";
import { Sidecar } from "./sidecar.js";
import { echo, openTarget, readAll, readExactly, startSidecarFixture, TEST_LIMITS } from "./testing/fixture.js";
import { plainRouter } from "./testing/plain-router.js";

const CONNECTED = "HTTP/1.1 200 Connection established\r\n\r\n".length;

describe("a sidecar", () => {
  test("counts what it does, by listener and outcome", async () => {
    const fixture = await startSidecarFixture("http");
    const metrics = sidecarMetrics(fixture.sidecar);
    onTestFinished(() => metrics.end());
    const port = await openTarget(echo);
    const client = await fixture.client();
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nhello`);
    await readExactly(client, CONNECTED + 5);
    expect(metrics.registry.text()).toContain('drawbridge_sidecar_connections_open{listener="http"} 1\n');
    client.end();
    await readAll(client);
    fixture.router.failure = new RouteError("name", "DB_DIAL_FAILED", "no");
    const refused = await fixture.client();
    refused.write("GET http://nowhere/ HTTP/1.1\r\nHost: nowhere\r\n\r\n");
    await readAll(refused);
    await eventually(() => expect(fixture.sidecar.listeners[0]?.handler.connections.size).toBe(0));
    const text = metrics.registry.text();
    for (const line of [
      'connections_total{listener="http",outcome="established"} 1',
      'connections_open{listener="http"} 0',
      'forwarded_requests_total{listener="http",outcome="name"} 1',
      'bytes_total{listener="http",direction="to_target"} 5',
      'bytes_total{listener="http",direction="from_target"} 5',
      'dial_seconds_count{listener="http"} 1',
      "ready 1",
    ]) {
      expect(text).toContain(`drawbridge_sidecar_${line}\n`);
    }
  });

  test("drains: no new clients, the old ones to their end, and idle ones not waited for", async () => {
    const fixture = await startSidecarFixture("http");
    const port = await openTarget(echo);
    const client = await fixture.client();
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await readExactly(client, CONNECTED);
    const drained = fixture.sidecar.drain(10_000);
    await expect(fixture.client()).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(fixture.sidecar.readiness.ready).toBe(false);
    client.end("still works");
    expect((await readAll(client)).toString()).toBe("still works");
    expect(await drained).toBe(true);
  });

  test("cuts what is left at the end of the drain", async () => {
    const fixture = await startSidecarFixture("socks5");
    const port = await openTarget(echo);
    const client = await fixture.client();
    client.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255]));
    await readExactly(client, 12);
    expect(await fixture.sidecar.drain(50)).toBe(false);
    const reset = once(client, "error");
    await fixture.sidecar.stop();
    expect(await reset).toMatchObject([{ code: "ECONNRESET" }]);
  });

  test("listens on Unix sockets with the configured mode, and leaves other files alone", async () => {
    const dir = mkdtempSync(join(tmpdir(), "db-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    const open = (path: string): Sidecar => {
      const sidecar = new Sidecar(
        {
          listeners: [
            {
              name: "uds",
              protocol: "http",
              address: { path, fileMode: 0o620 },
              routing: DEFAULT_ROUTING,
            },
          ],
          limits: TEST_LIMITS,
          probe: { intervalMs: 60_000, timeoutMs: 1_000 },
        },
        undefined,
        plainRouter,
      );
      onTestFinished(() => sidecar.destroy());
      return sidecar;
    };
    const path = join(dir, "proxy.sock");
    await open(path).start();
    expect(statSync(path).mode & 0o777).toBe(0o620);
    const client = connect({ path, allowHalfOpen: true });
    client.write(`CONNECT 127.0.0.1:${await openTarget(echo)} HTTP/1.1\r\n\r\n`);
    client.end("hello");
    expect((await readAll(client)).subarray(CONNECTED).toString()).toBe("hello");
    writeFileSync(join(dir, "file"), "");
    await expect(open(join(dir, "file")).start()).rejects.toMatchObject({ code: "DB_UDS_NOT_SOCKET" });
  });
});
