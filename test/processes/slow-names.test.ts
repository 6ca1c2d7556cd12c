/** Names that nobody answers for, asked for in numbers, while others go on. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { Resolver } from "../../src/tunnel/resolver/resolver.js";
import {
  type DnsServer,
  type SystemFiles,
  startDnsServer,
  writeSystemFiles,
  zoneOf,
} from "../../src/tunnel/resolver/testing/dns-servers.js";
import { readExactly, readToEnd } from "../support/callers/bytes.js";
import { askFrontend, connectRequest } from "../support/callers/connect.js";
import { waitUntil } from "../support/processes/deadline.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";

let fixture: Fixture;
let resolver: Resolver;
let dns: DnsServer;
let files: SystemFiles;
let echo: Target;

afterEach(async () => {
  await fixture.close();
  await echo.close();
  await dns.close();
  files.remove();
});

beforeEach(async () => {
  const known = zoneOf({ "quick.example": ["127.0.0.1"] });
  dns = await startDnsServer((query, how) => (query.name.startsWith("slow") ? undefined : known(query, how)));
  files = writeSystemFiles([dns.port], "options timeout:30 attempts:1", "127.0.0.1 localhost\n");
  resolver = new Resolver(files);
  fixture = await openFixture({ resolver });
  echo = await startEcho();
});

const dial = (name: string) =>
  askFrontend({ transport: "uds", path: fixture.connectPath }, connectRequest(`${name}:${echo.port}`));

async function reachQuick(): Promise<void> {
  const { status, socket } = await dial("quick.example");
  expect(status).toBe(200);
  socket.write("hello");
  expect(String(await readExactly(socket, 5))).toBe("hello");
  socket.destroy();
}

test("a hundred of them keep no quick name waiting, and each ends with its own dial", async () => {
  const slow = Array.from({ length: 100 }, async (_, index) => {
    const { status, socket } = await dial(`slow-${index}.example`);
    const { bytes } = await readToEnd(socket);
    return { status, text: String(bytes) };
  });
  await waitUntil("every slow name to be looked up", () => dns.asked.length >= 200);
  await reachQuick();
  for (const { status, text } of await Promise.all(slow)) {
    expect(status).toBe(504);
    expect(text).toMatch(/^dial tcp: lookup slow-\d+\.example: i\/o timeout$/);
  }
  expect(resolver.pending).toBe(0);
});

test("the most lookups that may hang delay neither a quick name nor the agent's connection to its server", async () => {
  const cancels = Array.from({ length: 300 }, (_, index) => resolver.lookup(`slow-${index}.example`, () => {}));
  expect(resolver.pending).toBe(256);
  await reachQuick();
  await fixture.addAgent({ servers: [{ host: "localhost", port: fixture.agentPort }] });
  await reachQuick();
  for (const cancel of cancels) cancel();
  expect(resolver.pending).toBe(0);
});
