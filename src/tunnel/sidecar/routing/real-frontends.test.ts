/** Routes through every kind of frontend of a real server, with a real agent behind it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readToEnd } from "../../../../test/support/callers/bytes.js";
import { Scope } from "../../../../test/support/processes/scope.js";
import { startHttpProxy } from "../../../../test/support/sidecar/http-proxy.js";
import { startBanner, startEcho } from "../../../../test/support/targets/echo.js";
import { startAnswerAfterEnd } from "../../../../test/support/targets/half-open.js";
import { FRONTENDS, type FrontendName, startTunnelFixture, type TunnelFixture } from "../../client/testing/fixture.js";
import { agentDialEnded, agentProbed, serverDialEnded } from "../../events/channels.js";
import { AGENT_ITSELF } from "../../wire/destination.js";
import { DEFAULT_ROUTING, type RoutingConfig } from "../config.js";
import { type Router, TunnelRouter } from "./router.js";
import { hello, NEVER } from "./testing/test-router.js";

let fixture: TunnelFixture;
const scope = new Scope();

beforeAll(async () => {
  fixture = await startTunnelFixture();
  await fixture.startAgent();
});
afterEach(() => scope.close());
afterAll(() => fixture.close());

function routerFor(frontend: FrontendName, changes: Partial<RoutingConfig> = {}): Router {
  return scope.use(new TunnelRouter({ ...DEFAULT_ROUTING, frontends: [fixture.frontends[frontend]], ...changes }));
}

describe.each(FRONTENDS)("by %s", (frontend) => {
  test("reaches a target, reports one that refuses, and probes", async () => {
    const echo = scope.use(await startEcho());
    const router = routerFor(frontend);
    expect(await hello(await router.open({ host: "localhost", port: echo.port }, NEVER))).toBe("hello");
    await expect(router.open({ host: "127.0.0.1", port: 1 }, NEVER)).rejects.toMatchObject({
      kind: "refused",
      code: "DB_DIAL_FAILED",
    });
    await expect(router.probe(NEVER)).resolves.toBeUndefined();
  });

  test("its probe fails nowhere, and a dial of the same address is a failed dial at both ends", async () => {
    const seen: string[] = [];
    const over = [
      serverDialEnded.subscribe(({ address }) => seen.push(`server ${address}`)),
      agentDialEnded.subscribe(({ address }) => seen.push(`agent ${address}`)),
      agentProbed.subscribe(({ agentId }) => seen.push(agentId === undefined ? "agent probed" : "server probed")),
    ];
    const router = routerFor(frontend);
    await router.probe(NEVER);
    expect(seen.splice(0)).toEqual(["agent probed", "server probed"]);
    await expect(router.open(AGENT_ITSELF, NEVER)).rejects.toMatchObject({ kind: "refused" });
    expect(seen).toEqual(["agent 127.0.0.1:9", "server 127.0.0.1:9"]);
    for (const end of over) end();
  });

  test("goes through a customer's proxy with TLS, and loses no byte of either side", async () => {
    const banner = scope.use(await startBanner("220 ready\n"));
    const tls = { cert: fixture.files.endpoint, key: fixture.files.endpointKey };
    const proxy = scope.use(await startHttpProxy({ tls, routes: { "*": `127.0.0.1:${banner.port}` } }));
    const httpsProxy = `https://localhost:${proxy.port}`;
    const router = routerFor(frontend, {
      httpsProxy,
      proxyTrustBundle: fixture.files.ca,
    });
    const stream = await router.open({ host: "mail.example", port: 25 }, NEVER);
    stream.write("QUIT\n");
    let text = "";
    for await (const chunk of stream) {
      text += String(chunk);
      if (text.includes("QUIT")) break;
    }
    expect(text).toBe("220 ready\nQUIT\n");
    expect(proxy.lines).toEqual(["CONNECT mail.example:25 HTTP/1.1"]);
  });

  test.runIf(frontend.startsWith("connect"))("carries the end of one direction", async () => {
    const target = scope.use(await startAnswerAfterEnd((request) => Buffer.from(`got ${request.length}`)));
    const stream = await routerFor(frontend).open({ host: "127.0.0.1", port: target.port }, NEVER);
    stream.end("12345");
    expect(String((await readToEnd(stream)).bytes)).toBe("got 5");
  });
});

describe("several frontends", () => {
  test("are tried in turn when the first is unreachable", async () => {
    const echo = scope.use(await startEcho());
    const frontends = [{ mode: "http-connect", uds: "/nonexistent.sock" } as const, fixture.frontends["grpc-tcp"]];
    const router = routerFor("grpc-tcp", { frontends });
    expect(await hello(await router.open({ host: "127.0.0.1", port: echo.port }, NEVER))).toBe("hello");
  });
});
