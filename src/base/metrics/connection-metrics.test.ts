import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, test } from "vitest";
import { Connections } from "../connections.js";
import { listenOn } from "../listen.js";
import { connectionMetrics } from "./process-metrics.js";
import { MetricsRegistry } from "./registry.js";

test("connections by listener: open, pending, and closed for what reason", async () => {
  const registry = new MetricsRegistry();
  const connections = new Connections();
  connectionMetrics(registry, connections);
  const server = createServer();
  await listenOn(server, "agent", { host: "127.0.0.1", port: 0 }, { maxPending: 1 }, connections);
  const { port } = server.address() as AddressInfo;
  const first = connect(port, "127.0.0.1").resume();
  await once(server, "connection");
  const second = connect(port, "127.0.0.1").resume();
  await once(first, "close");
  expect(registry.text().split("\n")).toEqual(
    expect.arrayContaining([
      'drawbridge_connections_open{listener="agent"} 1',
      'drawbridge_connections_pending{listener="agent"} 1',
      'drawbridge_connections_closed_total{listener="agent",reason="pending-limit"} 1',
    ]),
  );
  second.destroy();
  server.close();
});
