import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Environment } from "../framework/define.js";
import type { SidecarProcessConfig } from "./run-sidecar.js";
import sidecarCommand from "./sidecar.js";

function configOf(argv: readonly string[], env: Environment = {}): SidecarProcessConfig {
  const invocation = sidecarCommand.parse(argv, env, "drawbridge sidecar");
  if (invocation.help !== undefined) throw new Error("help was printed");
  return invocation.config.config;
}

const listenersOf = (...listen: string[]) => configOf(listen.map((text) => `--listen=${text}`)).listeners;

describe("drawbridge sidecar", () => {
  test("without flags listens where HyperShift's sidecars listen, on loopback", () => {
    const { listeners, health, limits } = configOf([], {
      KUBECONFIG: "/k",
      HTTPS_PROXY: "http://p:3128",
      NO_PROXY: ".svc",
    });
    expect(listeners.map(({ protocol, address }) => ({ protocol, address }))).toEqual([
      { protocol: "socks5", address: { host: "127.0.0.1", port: 8090 } },
      { protocol: "http", address: { host: "127.0.0.1", port: 8092 } },
    ]);
    expect(listeners[0]?.routing).toMatchObject({
      frontends: [
        {
          mode: "http-connect",
          host: "konnectivity-server-local",
          port: 8090,
          tls: {
            caFile: "/etc/konnectivity/proxy-ca/ca.crt",
            certFile: "/etc/konnectivity/proxy-client/tls.crt",
            keyFile: "/etc/konnectivity/proxy-client/tls.key",
          },
        },
      ],
      resolve: ["agent"],
      kubeconfig: "/k",
      fallbackDirect: false,
      cloudBypass: false,
      network: { httpsProxy: "http://p:3128", noProxy: ".svc" },
      dialTimeoutMs: 60_000,
      resolveTimeoutMs: 15_000,
    });
    expect(health).toEqual({ host: "", port: 8095 });
    expect(limits).toEqual({
      maxConnections: 4096,
      handshakeTimeoutMs: 15_000,
      maxHeaderBytes: 32_768,
      idleTimeoutMs: 0,
    });
  });

  test("tells every router about every listener", () => {
    const own = [
      { host: "127.0.0.1", port: 1 },
      { host: "", port: 2 },
    ];
    for (const { routing } of listenersOf("socks5://127.0.0.1:1", "http://:2", "http+unix:///run/x"))
      expect(routing.own).toEqual(own);
  });

  test("gives each listener its own options, and the common flags otherwise", () => {
    const { listeners } = configOf([
      "--listen=socks5://127.0.0.1:1",
      "--listen=http://[::1]:2/?resolve=services,local&prefer-ipv4=false&fallback-direct=true&cloud-bypass=true&customer-proxy=false",
      "--resolve=cluster-dns,agent",
      "--prefer-ipv4",
      "--https-proxy=http://proxy.example:3128",
      "--no-proxy=.svc",
    ]);
    expect(listeners.map(({ name }) => name)).toEqual(["socks5://127.0.0.1:1", "http://[::1]:2/"]);
    expect(listeners[0]?.routing).toMatchObject({
      resolve: ["cluster-dns", "agent"],
      preferIpv4: true,
      httpsProxy: "http://proxy.example:3128",
      noProxy: ".svc",
    });
    expect(listeners[1]).toMatchObject({
      address: { host: "::1", port: 2 },
      routing: {
        resolve: ["services", "local"],
        preferIpv4: false,
        fallbackDirect: true,
        cloudBypass: true,
        httpsProxy: "",
      },
    });
  });

  test("listens on unix sockets", () => {
    expect(
      listenersOf("socks5+unix:/run/a.sock", "http+unix:///run/b.sock?mode=0660").map(({ address }) => address),
    ).toEqual([
      { path: "/run/a.sock", fileMode: 0o600 },
      { path: "/run/b.sock", fileMode: 0o660 },
    ]);
  });

  test("takes any number of frontends", () => {
    const { listeners } = configOf([
      "--frontend=grpc+uds:/run/k.sock",
      "--frontend=http-connect+tcp:[::1]:8090,servername=server,ca=a,cert=b,key=c",
      "--ca-cert-path=x",
    ]);
    expect(listeners[0]?.routing.frontends).toEqual([
      { mode: "grpc", uds: "/run/k.sock" },
      {
        mode: "http-connect",
        host: "::1",
        port: 8090,
        tls: { servername: "server", caFile: "a", certFile: "b", keyFile: "c" },
        self: "this sidecar",
      },
    ]);
  });

  test("reads a proxy's URL from a file, so that its password is in no list of processes", () => {
    const dir = mkdtempSync(join(tmpdir(), "db-"));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, "url"), "http://u:p%40@proxy.example:3128\n");
    const { listeners } = configOf([`--https-proxy=file:${join(dir, "url")}`]);
    expect(listeners[0]?.routing.httpsProxy).toBe("http://u:p%40@proxy.example:3128");
  });

  test.each([
    ["--listen=tcp:127.0.0.1:1", "must be a URL such as socks5://127.0.0.1:8090"],
    ["--listen=socks5://127.0.0.1", "has no usable address"],
    ["--listen=socks5://127.0.0.1:0", "needs a port from 1 to 65535"],
    ["--listen=socks5://127.0.0.1:1?resolve=dns", "must name one or more of local, services, cluster-dns, agent"],
    ["--listen=socks5://127.0.0.1:1?x=1", "has the setting x=1; allowed are"],
    ["--listen=socks5://127.0.0.1:1?cloud-bypass=yes", "needs cloud-bypass=true or cloud-bypass=false"],
    ["--listen=socks5://127.0.0.1:1?mode=0600", "takes no mode"],
    ["--listen=socks5+unix://run/x", "needs an absolute path"],
    ["--frontend=server:8090", "must look like MODE+TRANSPORT:ADDRESS"],
    ["--frontend=grpc+tcp:server", "needs an address of the form host:port"],
    ["--frontend=grpc+tcp:server:1,x=y", "has the setting x=y; allowed are"],
    ["--resolve=local,local", "--resolve must name one or more of"],
    ["--cluster-dns=10.0.0.10", '"--cluster-dns" flag: must be host:port'],
    ["--probe-target=10.0.0.10", '"--probe-target" flag: must be host:port'],
    ["--handshake-timeout=0s", '"--handshake-timeout" flag: must be at least 1ms'],
    ["--max-connections=0", '"--max-connections" flag: must be at least 1'],
    ["--https-proxy=file:/nowhere/at/all", "--https-proxy names a file that cannot be read"],
  ])("refuses %s", (flag, sentence) => {
    expect(() => configOf([flag])).toThrow(sentence);
  });

  test("refuses the same listener twice", () => {
    expect(() => listenersOf("http://127.0.0.1:1", "http://127.0.0.1:1?resolve=local")).toThrow(
      "names http://127.0.0.1:1 twice",
    );
  });

  test("explains itself", () => {
    const { help } = sidecarCommand.parse(["--help"], {}, "drawbridge sidecar");
    expect(help).toContain("Usage:\n  drawbridge sidecar [flags]\n");
    expect(help).toContain("HTTPS_PROXY=http://127.0.0.1:8092");
  });
});
