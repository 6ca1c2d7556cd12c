/**
 * What a drop-in for HyperShift's two proxies has to do, one test for each item of the list that the sidecar's router was
 * built against. The numbers are the list's own. Items 14 to 17 concern certificates, agents and conditions, not the
 * sidecar; their tests stand with those.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { joinHostPort } from "../../src/base/address.js";
import { socks5ProxyCommand } from "../../src/cli/tunnel/konnectivity.js";
import { openServiceAddresses } from "../../src/cluster/kube/service-addresses.js";
import { networkProxyOf } from "../../src/tunnel/sidecar/config.js";
import { Sidecar } from "../../src/tunnel/sidecar/sidecar.js";
import { payload, readExactly, readToEnd, sha256 } from "../support/callers/bytes.js";
import { endedCaller, makePki, type TestPki } from "../support/processes/certs.js";
import { type Origin, peersAvailable } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { startTunnel, type Tunnel } from "../support/processes/tunnel.js";
import { DNS_HOST, type Fixture, NEVER, routerOn, startRecorded, useFixture } from "../support/sidecar/fixture.js";
import { startHttpProxy } from "../support/sidecar/http-proxy.js";
import { askSocks5, ipv4, type Socks5Request } from "../support/sidecar/socks5-client.js";
import { startBanner } from "../support/targets/echo.js";
import { startAnswerAfterEnd, startSteered } from "../support/targets/half-open.js";
import { listen } from "../support/targets/listener.js";

const origins: readonly Origin[] = peersAvailable("proxy-server", "proxy-agent") ? ["ours", "theirs"] : ["ours"];

let fixture: Fixture;

beforeAll(async () => {
  fixture = await useFixture(
    {
      "idp.guest.example": ["127.0.0.1"],
      "both.guest.example": ["127.0.0.1", "::1"],
      "proxy.guest.example": ["127.0.0.1"],
      localhost: ["127.0.0.1"],
    },
    { "echo.shop": ["127.0.0.1"] },
  );
});

afterAll(() => fixture.close());

describe("the conformance list", () => {
  test.each(origins)("19.1 the CONNECT request, byte for byte, and server (%s) takes it", async (origin) => {
    const { recorder } = origin === "ours" ? fixture : await startRecorded(fixture, origin);
    recorder.forget();
    const router = routerOn(fixture, {
      order: ["local"],
      local: { "db.example": "127.0.0.1" },
      config: { frontends: [{ mode: "http-connect", uds: recorder.path }] },
    });
    const { port } = fixture.echo;
    expect(await router.echo("db.example")).toBe("hello");
    expect(await router.echo("127.0.0.1")).toBe("hello");
    expect(recorder.heads).toEqual([
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: db.example\r\n\r\n`,
      `CONNECT 127.0.0.1:${port} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`,
    ]);
  });

  test("19.2 name or address as the target, by mode", async () => {
    const { recorder, echo } = fixture;
    const dialled = async (options: Parameters<typeof routerOn>[1], host: string): Promise<readonly string[]> => {
      recorder.forget();
      expect(await routerOn(fixture, options).echo(host)).toBe("hello");
      return recorder.targets;
    };
    const address = `127.0.0.1:${echo.port}`;
    const socks5 = { order: ["services", "local"], local: { "mgmt.example": "127.0.0.1" } } as const;
    expect(await dialled(socks5, "echo.shop.svc")).toEqual([address]);
    expect(await dialled(socks5, "mgmt.example")).toEqual([address]);
    expect(await dialled({ order: ["agent"] }, "localhost")).toEqual([`localhost:${echo.port}`]);
    const https = { order: ["services", "cluster-dns"] } as const;
    expect(await dialled(https, "idp.guest.example")).toEqual([`${DNS_HOST}:53`, address]);
    const proxy = fixture.use(await startHttpProxy({ routes: { "*": address } }));
    const config = { httpsProxy: `http://proxy.guest.example:${proxy.port}` };
    expect(await dialled({ ...https, config }, "far.example")).toEqual([`${DNS_HOST}:53`, `127.0.0.1:${proxy.port}`]);
    expect(proxy.lines).toEqual([`CONNECT far.example:${echo.port} HTTP/1.1`]);
  });

  test("19.3 DNS over TCP through the tunnel, both families, and only IPv4 when that is preferred", async () => {
    const six = fixture.use(await listen((socket) => socket.pipe(socket), "::1"));
    fixture.recorder.forget();
    fixture.dns.asked.length = 0;
    expect(await routerOn(fixture, { order: ["cluster-dns"] }).echo("both.guest.example", six.port)).toBe("hello");
    expect(fixture.dns.asked).toEqual(["A both.guest.example", "AAAA both.guest.example"]);
    expect(fixture.recorder.targets).toEqual([`${DNS_HOST}:53`, `127.0.0.1:${six.port}`, `[::1]:${six.port}`]);
    fixture.recorder.forget();
    const ipv4 = routerOn(fixture, { order: ["cluster-dns"], preferIpv4: true });
    await expect(ipv4.echo("both.guest.example", six.port)).rejects.toMatchObject({ kind: "refused" });
    expect(fixture.recorder.targets).toEqual([`${DNS_HOST}:53`, `127.0.0.1:${six.port}`]);
  });

  test("19.4 fallback: direct while only this host's DNS answers, one retry after 30 s, recovery", async () => {
    const local = { "idp.guest.example": "127.0.0.1" };
    const router = routerOn(fixture, { order: ["cluster-dns"], fallback: true, local });
    await router.echo("idp.guest.example");
    await fixture.tunnel.killAgents();
    await router.echo("idp.guest.example");
    fixture.recorder.forget();
    await router.echo("idp.guest.example");
    await router.echo("127.0.0.1");
    expect(fixture.recorder.targets).toEqual([]);
    await fixture.tunnel.addAgent();
    router.pass(29_999);
    await router.echo("idp.guest.example");
    expect(fixture.recorder.targets).toEqual([]);
    router.pass(1);
    await Promise.all([router.echo("idp.guest.example"), router.echo("idp.guest.example")]);
    await router.echo("127.0.0.1");
    const tunnelled = `127.0.0.1:${fixture.echo.port}`;
    expect(fixture.recorder.targets).toEqual([`${DNS_HOST}:53`, tunnelled, tunnelled]);
    expect([...router.routes].sort()).toEqual([...Array(5).fill("fallback"), ...Array(3).fill("tunnel")]);
  });

  test("19.5 no fallback when both kinds of DNS fail", async () => {
    const router = routerOn(fixture, { order: ["cluster-dns"], fallback: true });
    fixture.dns.mode = "servfail";
    await expect(router.echo("idp.guest.example")).rejects.toMatchObject({ code: "DB_SIDECAR_NAME" });
    fixture.dns.mode = "answer";
    fixture.recorder.forget();
    await router.echo("idp.guest.example");
    expect(fixture.recorder.targets).toEqual([`${DNS_HOST}:53`, `127.0.0.1:${fixture.echo.port}`]);
    expect(router.routes).toEqual(["tunnel"]);
  });

  test("19.6 port 53 goes through the tunnel, fallback or not", async () => {
    const router = routerOn(fixture, {
      order: ["cluster-dns"],
      fallback: true,
      local: { "idp.guest.example": "127.0.0.1" },
    });
    fixture.dns.mode = "servfail";
    await router.echo("idp.guest.example");
    fixture.dns.mode = "answer";
    fixture.recorder.forget();
    (await router.open({ host: DNS_HOST, port: 53 }, NEVER)).destroy();
    expect(fixture.recorder.targets).toEqual([`${DNS_HOST}:53`]);
    expect(router.routes).toEqual(["fallback", "tunnel"]);
  });

  test("19.7 suffixes of cloud APIs, look-alikes and exclusions", async () => {
    const direct = ["ec2.amazonaws.com", "s3.c2s.ic.gov", "login.microsoftonline.com", "iam.cloud.ibm.com"];
    direct.push("a.hci.ic.gov", "a.sc2s.sgov.gov", "management.azure.com");
    const tunnelled = [
      "azure.com",
      "notazure.com",
      "ec2.amazonaws.com.example",
      "kept.azure.com",
      "www.googleapis.com",
    ];
    const local = Object.fromEntries([...direct, ...tunnelled].map((name) => [name, "127.0.0.1"]));
    const cloud = { cloudBypass: true, cloudExclude: ["kept.azure.com"] };
    const router = routerOn(fixture, { order: ["local"], local, config: cloud });
    for (const name of [...direct, ...tunnelled]) await router.echo(name);
    expect(router.routes).toEqual([...direct.map(() => "direct"), ...tunnelled.map(() => "tunnel")]);
    const off = routerOn(fixture, { order: ["local"], local });
    for (const name of direct) await off.echo(name);
    expect(new Set(off.routes)).toEqual(new Set(["tunnel"]));
  });

  test("19.8 HTTPS_PROXY with credentials for what is dialled directly", async () => {
    const routes = { "*": `127.0.0.1:${fixture.echo.port}` };
    const proxy = fixture.use(await startHttpProxy({ login: "op@corp:p/w:d", routes }));
    const network = networkProxyOf({
      HTTPS_PROXY: `http://op%40corp:p%2Fw%3Ad@127.0.0.1:${proxy.port}`,
      NO_PROXY: "sts.amazonaws.com",
    });
    const config = { cloudBypass: true, network };
    const router = routerOn(fixture, { local: { "sts.amazonaws.com": "127.0.0.1" }, config });
    fixture.recorder.forget();
    expect(await router.echo("ec2.amazonaws.com", 443)).toBe("hello");
    expect(await router.echo("sts.amazonaws.com")).toBe("hello");
    expect({ proxy: proxy.lines, tunnel: fixture.recorder.targets }).toEqual({
      proxy: ["CONNECT ec2.amazonaws.com:443 HTTP/1.1"],
      tunnel: [],
    });
  });

  test("19.9 no_proxy: what goes past the customer's proxy", async () => {
    const proxy = fixture.use(await startHttpProxy({ routes: { "*": `127.0.0.1:${fixture.echo.port}` } }));
    const rules: [string, string, number, boolean][] = [
      ["", "localhost", 443, true],
      ["", "127.0.0.9", 443, true],
      ["", "a.example", 443, false],
      ["*", "a.example", 443, true],
      [" , x.example ,, A.example ", "a.example", 443, true],
      ["a.example", "b.a.example", 443, true],
      ["a.example", "ba.example", 443, false],
      [".a.example", "a.example", 443, false],
      ["*.a.example", "b.a.example", 443, true],
      ["a.example:443", "a.example", 443, true],
      ["a.example:8443", "a.example", 443, false],
      ["192.0.2.0/24", "192.0.2.7", 443, true],
      ["192.0.2.0/24", "198.51.100.7", 443, false],
      ["192.0.2.7:8443", "192.0.2.7", 443, false],
      ["2001:db8::/32", "2001:db8::7", 443, true],
      ["[2001:db8::7]:443", "2001:db8::7", 443, true],
      ["bücher.example", "xn--bcher-kva.example", 443, true],
    ];
    const asked: typeof rules = [];
    // Past the proxy these would be foreign addresses: they are only listened for.
    fixture.recorder.only = `127.0.0.1:${proxy.port}`;
    for (const [noProxy, host, port] of rules) {
      proxy.lines.length = 0;
      fixture.recorder.forget();
      const router = routerOn(fixture, {
        config: { httpsProxy: `http://127.0.0.1:${proxy.port}`, noProxy },
      });
      await router.echo(host, port).catch(() => {});
      const [target] = fixture.recorder.targets;
      asked.push([noProxy, host, port, target === joinHostPort(host, port) && proxy.lines.length === 0]);
    }
    fixture.recorder.only = undefined;
    expect(asked).toEqual(rules);
  });

  test("19.10 a customer's proxy: http and https, awkward logins, 407, and bodies cut at 500 bytes", async () => {
    const pki = makePki(fixture.tempDir());
    const routes = { "*": `127.0.0.1:${fixture.echo.port}` };
    const login = "us@er:p:a/s%s w#rd?ü";
    const userinfo = "us%40er:p%3Aa%2Fs%25s%20w%23rd%3F%C3%BC";
    const plain = fixture.use(await startHttpProxy({ login, routes }));
    const secure = fixture.use(await startHttpProxy({ login, routes, tls: pki.webhook }));
    const proxyTrustBundle = pki.webhook.ca;
    const through = (httpsProxy: string) =>
      routerOn(fixture, { order: ["cluster-dns"], config: { httpsProxy, proxyTrustBundle } });
    expect(await through(`http://${userinfo}@127.0.0.1:${plain.port}`).echo("far.example", 443)).toBe("hello");
    expect(await through(`https://${userinfo}@localhost:${secure.port}`).echo("far.example", 443)).toBe("hello");
    await expect(through(`http://us:wrong@127.0.0.1:${plain.port}`).echo("far.example", 443)).rejects.toThrow(
      /does not accept the login \(407\): who are you\?/,
    );
    const wordy = fixture.use(await startHttpProxy({ answer: `HTTP/1.1 503 No\r\n\r\n${"sorry".repeat(400)}` }));
    const refused = through(`http://127.0.0.1:${wordy.port}`).echo("far.example", 443);
    await expect(refused).rejects.toMatchObject({
      code: "DB_SIDECAR_PROXY",
      message: expect.stringMatching(/\(503\): (sorry){100}\.$/),
    });
  });

  test("19.18 bytes that come with the answer are delivered", async () => {
    const banner = payload("banner", 3_000);
    const target = fixture.use(await startBanner(banner));
    const router = routerOn(fixture, {});
    for (let round = 0; round < 20; round += 1) {
      const stream = await router.open({ host: "127.0.0.1", port: target.port }, NEVER);
      stream.write("ping");
      const bytes = await readExactly(stream, banner.length + 4);
      stream.destroy();
      expect(sha256(bytes)).toBe(sha256(banner, Buffer.from("ping")));
    }
  });
});

describe("the conformance list, as clients of HyperShift's SOCKS5 proxy see it", () => {
  let port: number;

  beforeAll(async () => {
    const tunnel = fixture.use(await startTunnel({ server: "ours", agent: "ours", frontend: "connect-tcp" }));
    const { ca, cert, key } = tunnel.pki.caller;
    port = await freePort();
    const argv = ["run", "--konnectivity-hostname=127.0.0.1", `--konnectivity-port=${tunnel.place.frontendPort}`];
    argv.push(`--serving-port=${port}`, `--ca-cert-path=${ca}`, `--tls-cert-path=${cert}`, `--tls-key-path=${key}`);
    argv.push("--resolve-from-guest-cluster-dns");
    const parsed = socks5ProxyCommand.parse(argv, { KUBECONFIG: fixture.api.kubeconfig }, "konnectivity-socks5-proxy");
    if (!("config" in parsed)) throw new Error("the flags were not taken");
    const sidecar = new Sidecar(parsed.config.config, openServiceAddresses);
    fixture.defer(() => sidecar.destroy());
    await sidecar.start();
  });

  test.each<[number, string, () => Socks5Request]>([
    [0, "a name of the hosted cluster", () => ({ host: "idp.guest.example", port: fixture.echo.port })],
    [0, "an address", () => ({ address: ipv4("127.0.0.1"), port: fixture.echo.port })],
    // Refused by the agent's own kernel; no packet leaves it.
    [3, "a network without a route", () => ({ address: ipv4("255.255.255.255"), port: 80 })],
    [4, "a name that does not exist", () => ({ host: "nosuch.guest.example", port: 80 })],
    [5, "a port where nobody listens", () => ({ address: ipv4("127.0.0.1"), port: 1 })],
    [7, "BIND", () => ({ command: 2, address: ipv4("127.0.0.1"), port: 80 })],
    [7, "UDP ASSOCIATE", () => ({ command: 3, address: ipv4("127.0.0.1"), port: 80 })],
    [8, "an address of an unknown type", () => ({ address: Buffer.of(9, 1, 2, 3, 4), port: 80 })],
    [0xff, "a client that wants to log in", () => ({ methods: [2] })],
  ])("19.11 SOCKS5 answers %i to %s", async (code, _, request) => {
    const answer = await askSocks5(port, request());
    answer.socket.destroy();
    expect(answer.code).toBe(code);
  });

  test("19.12 large transfers, and the end of either direction alone", async () => {
    const request = payload("request", 8_000_000);
    const answer = payload("answer", 8_000_000);
    const patient = fixture.use(await startAnswerAfterEnd((got) => Buffer.concat([Buffer.from(sha256(got)), answer])));
    const { socket } = await askSocks5(port, { address: ipv4("127.0.0.1"), port: patient.port });
    socket.end(request);
    const { bytes } = await readToEnd(socket);
    expect(bytes.toString("latin1", 0, 64)).toBe(sha256(request));
    expect(sha256(bytes.subarray(64))).toBe(sha256(answer));

    const steered = await startSteered();
    fixture.use(steered);
    const far = Number(steered.address.split(":")[1]);
    const other = (await askSocks5(port, { address: ipv4("127.0.0.1"), port: far })).socket;
    const conversation = await steered.next();
    conversation.socket.end("that is all");
    expect(String((await readToEnd(other)).bytes)).toBe("that is all");
    other.end(request);
    await conversation.inputEnded;
    expect(sha256(conversation.received())).toBe(sha256(request));
  });
});

describe("19.13 a server that wants certificates", () => {
  let tunnel: Tunnel;
  let pki: TestPki;

  beforeAll(async () => {
    tunnel = fixture.use(await startTunnel({ server: "ours", agent: "ours", frontend: "connect-tcp" }));
    pki = tunnel.pki;
  });

  const at = (tls: Record<string, string>) => {
    const { frontendPort: port } = tunnel.place;
    return routerOn(fixture, { config: { frontends: [{ mode: "http-connect", host: "127.0.0.1", port, tls }] } });
  };

  test("takes the right one", async () => {
    const { ca, cert, key } = pki.caller;
    expect(await at({ caFile: ca, certFile: cert, keyFile: key }).echo("127.0.0.1")).toBe("hello");
  });

  test.each([
    ["none", "DB_TLS_OWN_MISSING", () => ({ caFile: pki.caller.ca })],
    [
      "a stranger's",
      "DB_TLS_OWN_REFUSED",
      () => ({ caFile: pki.caller.ca, certFile: pki.stranger.cert, keyFile: pki.stranger.key }),
    ],
    [
      "the right one, but one that has ended",
      "DB_TLS_OWN_EXPIRED",
      () => {
        const { ca, cert, key } = endedCaller(pki);
        return { caFile: ca, certFile: cert, keyFile: key };
      },
    ],
    [
      "ours, but we do not know its own",
      "DB_TLS_UNKNOWN_CA",
      () => ({ caFile: pki.agent.ca, certFile: pki.caller.cert, keyFile: pki.caller.key }),
    ],
  ])("refuses %s, and that is a fault of the path", async (_, code, tls) => {
    await expect(at(tls()).echo("127.0.0.1")).rejects.toMatchObject({ kind: "path", code });
  });
});
