/** Ways through every kind of front door of a real server, with a real agent behind it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readToEnd } from "../../../../test/support/callers/bytes.js";
import { Scope } from "../../../../test/support/processes/scope.js";
import { startHttpProxy } from "../../../../test/support/sidecar/http-proxy.js";
import { startBanner, startEcho } from "../../../../test/support/targets/echo.js";
import { startAnswerAfterEnd } from "../../../../test/support/targets/half-open.js";
import { DOORS, type DoorName, type Rig, startRig } from "../../client/testing/rig.js";
import { DEFAULT_WAY, type WayConfig } from "./config.js";
import { type OpenWay, openWay } from "./open-way.js";
import { hello, NEVER } from "./testing/test-way.js";

let rig: Rig;
const scope = new Scope();

beforeAll(async () => {
  rig = await startRig();
  await rig.startAgent();
});
afterEach(() => scope.close());
afterAll(() => rig.close());

function wayBy(door: DoorName, changes: Partial<WayConfig> = {}): OpenWay {
  return scope.use(openWay({ ...DEFAULT_WAY, frontends: [rig.doors[door]], own: [], ...changes }));
}

describe.each(DOORS)("by %s", (door) => {
  test("reaches a target, is told of one that refuses, and probes", async () => {
    const echo = scope.use(await startEcho());
    const way = wayBy(door);
    expect(await hello(await way.open({ host: "localhost", port: echo.port }, NEVER))).toBe("hello");
    await expect(way.open({ host: "127.0.0.1", port: 1 }, NEVER)).rejects.toMatchObject({
      hindrance: "refused",
      code: "DB_DIAL_FAILED",
    });
    await expect(way.probe(NEVER)).resolves.toBeUndefined();
  });

  test("goes through a customer's proxy that speaks TLS, and loses nothing of either side", async () => {
    const banner = scope.use(await startBanner("220 ready\n"));
    const tls = { cert: rig.files.endpoint, key: rig.files.endpointKey };
    const proxy = scope.use(await startHttpProxy({ tls, routes: { "*": `127.0.0.1:${banner.port}` } }));
    const httpsProxy = `https://localhost:${proxy.port}`;
    const way = wayBy(door, { customer: { ...DEFAULT_WAY.customer, httpsProxy, trustBundleFile: rig.files.ca } });
    const stream = await way.open({ host: "mail.example", port: 25 }, NEVER);
    stream.write("QUIT\n");
    let text = "";
    for await (const chunk of stream) {
      text += String(chunk);
      if (text.includes("QUIT")) break;
    }
    expect(text).toBe("220 ready\nQUIT\n");
    expect(proxy.lines).toEqual(["CONNECT mail.example:25 HTTP/1.1"]);
  });

  test.runIf(door.startsWith("connect"))("carries the end of one direction", async () => {
    const target = scope.use(await startAnswerAfterEnd((request) => Buffer.from(`got ${request.length}`)));
    const stream = await wayBy(door).open({ host: "127.0.0.1", port: target.port }, NEVER);
    stream.end("12345");
    expect(String((await readToEnd(stream)).bytes)).toBe("got 5");
  });
});

describe("several doors", () => {
  test("are used in turn when the first leads nowhere", async () => {
    const echo = scope.use(await startEcho());
    const frontends = [{ mode: "http-connect", uds: "/nonexistent.sock" } as const, rig.doors["grpc-tcp"]];
    const way = wayBy("grpc-tcp", { frontends });
    expect(await hello(await way.open({ host: "127.0.0.1", port: echo.port }, NEVER))).toBe("hello");
  });
});
