import { describe, expect, test } from "vitest";
import { readToEnd } from "../../../../test/support/callers/bytes.js";
import { startDnsResponder } from "../../../../test/support/sidecar/dns-responder.js";
import { startEcho } from "../../../../test/support/targets/echo.js";
import { startAnswerAfterEnd } from "../../../../test/support/targets/half-open.js";
import { frontendUnreachable } from "../../client/errors.js";
import { connectTcp } from "./direct.js";
import { RouteError } from "./errors.js";
import { fakeTunnel } from "./testing/fake-tunnel.js";
import { NEVER, nothingHere, useRouters } from "./testing/test-router.js";

const scope = useRouters();

describe("a router through the tunnel", () => {
  test("goes to addresses as they are, and leaves names to the agent by default", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel({ "10.0.0.1:80": echo.port, "[fd00::1]:80": echo.port, "db.example:80": echo.port });
    const router = scope.router({}, { dialer: tunnel });
    for (const host of ["10.0.0.1", "fd00::1", "db.example"]) expect(await router.echo(host, 80)).toBe("hello");
    expect(tunnel.dialled).toEqual(["10.0.0.1:80", "[fd00::1]:80", "db.example:80"]);
    expect(router.routes).toEqual(["tunnel 10.0.0.1:80", "tunnel fd00::1:80", "tunnel db.example:80"]);
  });

  test("sends the proxy-server the name that it resolved, and tries the name's next address", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel({ "[fd00::1]:80": echo.port });
    const router = scope.router(
      { resolve: ["local"] },
      { dialer: tunnel, lookup: async () => ["10.0.0.1", "fd00::1"] },
    );
    expect(await router.echo("db.example", 80)).toBe("hello");
    expect(tunnel.dialled).toEqual(["10.0.0.1:80 (db.example)", "[fd00::1]:80 (db.example)"]);
  });

  test("reaches a name whose first address swallows everything, through the tunnel and directly", async () => {
    const echo = scope.use(await startEcho());
    const silent = (signal: AbortSignal | undefined) =>
      new Promise<never>((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const lookup = async () => ["10.0.0.1", "10.0.0.2"];
    const tunnel = fakeTunnel({ "10.0.0.2:80": echo.port });
    const dialer: typeof tunnel = Object.assign(Object.create(tunnel), {
      dial: (address: string, bounds: Parameters<typeof tunnel.dial>[1]) =>
        address === "10.0.0.1:80" ? silent(bounds?.signal) : tunnel.dial(address, bounds),
    });
    const tunnelled = scope.router({ resolve: ["local"] }, { dialer, lookup });
    expect(await tunnelled.echo("db.example", 80)).toBe("hello");
    const connect: typeof connectTcp = ({ host }, stop) =>
      host === "10.0.0.1" ? silent(stop) : connectTcp({ host: "127.0.0.1", port: echo.port }, stop);
    const direct = scope.router({ cloudBypass: true }, { dialer, lookup, connect });
    expect(await direct.echo("ec2.amazonaws.com", 80)).toBe("hello");
    expect([...tunnelled.routes, ...direct.routes]).toEqual(["tunnel db.example:80", "direct ec2.amazonaws.com:80"]);
  });

  test("asks the cluster's DNS through the tunnel", async () => {
    const [echo, dns] = [
      scope.use(await startEcho()),
      scope.use(await startDnsResponder({ "db.shop.svc": ["10.0.0.1"] })),
    ];
    const tunnel = fakeTunnel({ "10.96.0.10:53": dns.port, "10.0.0.1:80": echo.port });
    const clusterDns = { host: "10.96.0.10", port: 53 };
    const router = scope.router({ resolve: ["cluster-dns"], clusterDns }, { dialer: tunnel, lookup: nothingHere });
    expect(await router.echo("db.shop.svc", 80)).toBe("hello");
    expect(await router.echo("DB.shop.svc", 80)).toBe("hello");
    expect(tunnel.dialled).toEqual(["10.96.0.10:53", "10.0.0.1:80 (db.shop.svc)", "10.0.0.1:80 (db.shop.svc)"]);
    expect(dns.asked).toEqual(["A db.shop.svc", "AAAA db.shop.svc"]);
  });

  test("takes every host in its one form, and nothing that others could read as another host", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel({ "10.0.0.1:80": echo.port });
    const router = scope.router({}, { dialer: tunnel });
    expect(await router.echo("::ffff:10.0.0.1", 80)).toBe("hello");
    for (const host of ["", "a b", "a\r\nX: y", "a/b", "user@a", "\u0000", "ⓛocalhost", "bücher.example", "a%41"]) {
      const opening = router.open({ host, port: 80 }, NEVER);
      await expect(opening).rejects.toBeInstanceOf(RouteError);
      await expect(opening).rejects.toMatchObject({ code: "DB_DIAL_FAILED" });
    }
    expect(tunnel.dialled).toEqual(["10.0.0.1:80"]);
  });

  test("rejects with the caller's own reason, also while a name is being resolved", async () => {
    const stop = new AbortController();
    const router = scope.router({ resolve: ["local"] }, { dialer: fakeTunnel(), lookup: () => new Promise(() => {}) });
    const opening = router.open({ host: "db.example", port: 80 }, stop.signal);
    const gone = new Error("the client left");
    stop.abort(gone);
    await expect(opening).rejects.toBe(gone);
  });

  test("bounds all steps of a dial by one timeout", async () => {
    const router = scope.router(
      { resolve: ["local"], dialTimeoutMs: 30, resolveTimeoutMs: 10_000 },
      { dialer: fakeTunnel(), lookup: () => new Promise(() => {}) },
    );
    await expect(router.open({ host: "db.example", port: 80 }, NEVER)).rejects.toMatchObject({
      kind: "timeout",
      code: "DB_DIAL_TIMEOUT",
    });
  });
});

describe("a loop", () => {
  const own = [{ host: "127.0.0.1", port: 8090 }];

  test("is refused for a target that is ourselves, by address, by name and by what the name means", async () => {
    const tunnel = fakeTunnel();
    const router = scope.router({ own, resolve: ["local"] }, { dialer: tunnel, lookup: async () => ["127.0.0.1"] });
    for (const host of ["127.0.0.1", "localhost", "sneaky.example"]) {
      await expect(router.open({ host, port: 8090 }, NEVER)).rejects.toMatchObject({
        kind: "forbidden",
        code: "DB_SIDECAR_LOOP",
      });
      const hop = router.routeHttp({ host, port: 8090 });
      await expect(hop.open(NEVER)).rejects.toMatchObject({ code: "DB_SIDECAR_LOOP" });
    }
    expect(tunnel.dialled).toEqual([]);
  });

  test.each([
    ["the customer's", { httpsProxy: "http://localhost:8090" }],
    ["this network's", { cloudBypass: true, network: { httpsProxy: "http://u:p@127.0.0.1:8090", noProxy: "" } }],
  ])("is refused at the start when %s proxy is ourselves", (_, config) => {
    expect(() => scope.router({ own, ...config }, {})).toThrow(expect.objectContaining({ code: "DB_SIDECAR_LOOP" }));
  });

  test("is not found in an HTTPS_PROXY that no route uses", () => {
    const network = { httpsProxy: "http://127.0.0.1:8090", noProxy: "" };
    expect(() => scope.router({ own, network }, {})).not.toThrow();
  });
});

describe("the fallback", () => {
  test("dials from here while the tunnel is down, tries it again after 30 s, and never takes port 53 past it", async () => {
    const [echo, dns] = [
      scope.use(await startEcho()),
      scope.use(await startDnsResponder({ "idp.example": ["10.0.0.1"] })),
    ];
    const tunnel = fakeTunnel({ "10.96.0.10:53": dns.port, "10.0.0.1:443": echo.port });
    const time = { now: 0 };
    const direct: string[] = [];
    const fallbacks: boolean[] = [];
    const clusterDns = { host: "10.96.0.10", port: 53 };
    const router = scope.router(
      {
        resolve: ["cluster-dns"],
        clusterDns,
        fallbackDirect: true,
        // The fallback goes past every proxy.
        network: { httpsProxy: "http://127.0.0.1:1", noProxy: "" },
      },
      {
        dialer: tunnel,
        maxCacheMs: 0,
        now: () => time.now,
        lookup: async (name) => (name === "idp.example" ? ["192.0.2.1"] : nothingHere()),
        connect: async ({ host, port }, stop) => {
          direct.push(`${host}:${port}`);
          return await connectTcp({ host: "127.0.0.1", port: echo.port }, stop);
        },
        onFallback: (active) => void fallbacks.push(active),
      },
    );
    expect(await router.echo("idp.example", 443)).toBe("hello");
    expect(direct).toEqual([]);

    tunnel.down = frontendUnreachable("server", "refused");
    expect(await router.echo("idp.example", 443)).toBe("hello");
    expect(await router.echo("10.0.0.1", 443)).toBe("hello");
    expect(direct).toEqual(["192.0.2.1:443", "10.0.0.1:443"]);
    await expect(router.open({ host: "10.96.0.10", port: 53 }, NEVER)).rejects.toMatchObject({ code: "DB_FRONTEND" });
    await expect(router.open({ host: "idp.example", port: 53 }, NEVER)).rejects.toMatchObject({ code: "DB_FRONTEND" });

    tunnel.down = undefined;
    time.now = 29_999;
    await router.echo("idp.example", 443);
    expect(direct).toHaveLength(3);
    time.now = 30_000;
    await router.echo("idp.example", 443);
    await router.echo("10.0.0.1", 443);
    expect(direct).toHaveLength(3);
    expect(fallbacks).toEqual([true, false]);
  });

  test("is found by a remembered name, too, and ended by an address", async () => {
    const [echo, dns] = [
      scope.use(await startEcho()),
      scope.use(await startDnsResponder({ "idp.example": ["10.0.0.1"] })),
    ];
    const tunnel = fakeTunnel({ "10.96.0.10:53": dns.port, "10.0.0.1:443": echo.port });
    const time = { now: 0 };
    const clusterDns = { host: "10.96.0.10", port: 53 };
    const router = scope.router(
      { resolve: ["cluster-dns"], clusterDns, fallbackDirect: true },
      {
        dialer: tunnel,
        now: () => time.now,
        lookup: async () => ["192.0.2.1"],
        connect: async (_, stop) => {
          return await connectTcp({ host: "127.0.0.1", port: echo.port }, stop);
        },
      },
    );
    await router.echo("idp.example", 443);
    tunnel.down = frontendUnreachable("server", "refused");
    await router.echo("idp.example", 443);
    tunnel.down = undefined;
    time.now = 30_000;
    await router.echo("10.0.0.1", 443);
    await router.echo("idp.example", 443);
    expect(router.routes).toEqual([
      "tunnel idp.example:443",
      "fallback idp.example:443",
      "tunnel 10.0.0.1:443",
      "tunnel idp.example:443",
    ]);
  });
});

describe("a probe", () => {
  test("succeeds with any answer from an agent, and fails without one", async () => {
    const tunnel = fakeTunnel();
    const router = scope.router({}, { dialer: tunnel });
    await router.probe(NEVER);
    expect(tunnel.dialled).toHaveLength(1);
    tunnel.down = frontendUnreachable("server:8090", "refused");
    await expect(router.probe(NEVER)).rejects.toMatchObject({ kind: "path", code: "DB_FRONTEND" });
  });

  test("asks for the cluster's DNS where names come from there", async () => {
    const tunnel = fakeTunnel();
    const clusterDns = { host: "10.96.0.10", port: 53 };
    await scope.router({ resolve: ["cluster-dns"], clusterDns }, { dialer: tunnel }).probe(NEVER);
    expect(tunnel.dialled).toEqual(["10.96.0.10:53"]);
  });

  test("needs a connection when it has a target", async () => {
    const echo = scope.use(await startEcho());
    const tunnel = fakeTunnel();
    const router = scope.router({ probe: { host: "10.0.0.1", port: 443 } }, { dialer: tunnel });
    await expect(router.probe(NEVER)).rejects.toMatchObject({ kind: "refused" });
    tunnel.routes.set("10.0.0.1:443", echo.port);
    await router.probe(NEVER);
  });
});

describe("half-close", () => {
  test("is passed on where the route can", async () => {
    const target = scope.use(await startAnswerAfterEnd((request) => Buffer.from(`got ${request.length}`)));
    const router = scope.router({}, { dialer: fakeTunnel({ "10.0.0.1:80": target.port }) });
    const stream = await router.open({ host: "10.0.0.1", port: 80 }, NEVER);
    stream.end("12345");
    expect(String((await readToEnd(stream)).bytes)).toBe("got 5");
  });
});
