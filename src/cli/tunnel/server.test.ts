import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import type { ServerProcessConfig } from "./run-server.js";
import serverCommand from "./server.js";

// Any files will do: flags only check that they exist.
const file = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const [cert, key, ca] = [file("README.md"), file("package.json"), file("LICENSE")];
const cluster = [`--cluster-cert=${cert}`, `--cluster-key=${key}`, `--cluster-ca-cert=${ca}`];
const uds = ["--uds-name=/run/k.sock", "--server-port=0"];
const tcp = [`--server-cert=${cert}`, `--server-key=${key}`, `--server-ca-cert=${ca}`];
const good = [...uds, ...cluster];

function invoke(argv: readonly string[], env = {}) {
  const invocation = serverCommand.parse(argv, env, "proxy-server");
  if (invocation.help !== undefined) throw new Error("help was printed");
  return { ...invocation.config, warnings: invocation.warnings };
}

function configOf(...argv: string[]): ServerProcessConfig {
  return invoke(argv).config;
}

describe("defaults", () => {
  test("a minimal command line", () => {
    const { config, logging, warnings } = invoke(good, { PROXY_SERVER_ID: "s1" });
    expect(config).toEqual({
      serverId: "s1",
      serverCount: 1,
      listeners: [{ mode: "grpc", transport: "uds", path: "/run/k.sock", deleteExisting: true, fileMode: 0o770 }],
      agents: {
        host: "",
        port: 8091,
        tls: { certFile: cert, keyFile: key, clientCaFile: ca },
        allowUnauthenticated: false,
        timeBoxed: false,
        claimsFile: "",
      },
      tlsPolicy: { minVersion: "TLSv1.2", cipherSuites: [] },
      pending: { handshakeTimeoutMs: 10_000, maxPending: 1024 },
      health: { host: "", port: 8092 },
      admin: { host: "127.0.0.1", port: 8095, tokenFile: "", profiling: false },
      strategies: ["default"],
      keepaliveMs: 3_600_000,
      frontendKeepaliveMs: 3_600_000,
      dialTimeoutMs: 15_000,
      waitForAgentMs: 0,
      gracefulShutdownMs: 0,
      xfrChannelSize: 10,
      kube: { kubeconfig: "", qps: 0, burst: 0 },
      limits: { tunnelQueueBytes: 4 << 20, processQueueBytes: 256 << 20, creditBudgetBytes: 128 << 20 },
      watchdog: { intervalMs: 30_000, timeoutMs: 10_000, failures: 3 },
      readiness: "agents",
      flightRecorder: true,
      dumpDir: "",
    });
    expect(logging).toEqual({ verbosity: 4, format: "text" });
    expect(warnings).toEqual([]);
  });

  test("the server ID: flag, then environment, then a new one each time", () => {
    expect(invoke([...good, "--server-id=flag"], { PROXY_SERVER_ID: "env" }).config.serverId).toBe("flag");
    expect(configOf(...good, "--server-id=").serverId).toBe("");
    expect(configOf(...good).serverId).toMatch(/^[0-9a-f]{8}-/);
    expect(configOf(...good).serverId).not.toBe(configOf(...good).serverId);
  });
});

describe("what flags become", () => {
  test("a TCP frontend has the address and the TLS files of its flags", () => {
    const { listeners } = configOf(...tcp, ...cluster, "--mode=http-connect", "--server-bind-address=::1");
    expect(listeners).toEqual([
      {
        mode: "http-connect",
        transport: "tcp",
        host: "::1",
        port: 8090,
        tls: { certFile: cert, keyFile: key, clientCaFile: ca },
      },
    ]);
  });

  test("socket mode, owner and leftover file", () => {
    const { listeners } = configOf(...good, "--uds-mode=660", "--uds-owner=0:1000", "--delete-existing-uds-file=false");
    expect(listeners[0]).toMatchObject({ fileMode: 0o660, owner: { uid: 0, gid: 1000 }, deleteExisting: false });
  });

  test("times", () => {
    const config = configOf(
      ...good,
      "--keepalive-time=30s",
      "--frontend-keepalive-time=0",
      "--backend-dial-timeout=0",
      "--graceful-shutdown-timeout=1m",
    );
    expect(config).toMatchObject({
      keepaliveMs: 30_000,
      frontendKeepaliveMs: 7_200_000,
      dialTimeoutMs: 0,
      gracefulShutdownMs: 60_000,
    });
    expect(configOf(...good, "--keepalive-time=10ms").keepaliveMs).toBe(1_000);
  });

  test("token authentication", () => {
    const { agents } = configOf(
      ...uds,
      ...cluster.slice(0, 2),
      "--agent-namespace=kube-system",
      "--agent-service-account=konnectivity-agent",
      "--authentication-audience=system:konnectivity-server",
    );
    expect(agents.tokenAuth).toEqual({
      namespace: "kube-system",
      serviceAccount: "konnectivity-agent",
      audience: "system:konnectivity-server",
    });
  });

  test("leases", () => {
    expect(configOf(...good).leases).toBeUndefined();
    expect(configOf(...good, "--enable-lease-controller", "--lease-label=a=b, c = d").leases).toEqual({
      namespace: "kube-system",
      labels: { a: "b", c: "d" },
    });
  });

  test("strategies, destCIDR among them", () => {
    expect(configOf(...good, "--proxy-strategies=destHost,,destCIDR,defaultRoute").strategies).toEqual([
      "destHost",
      "destCIDR",
      "defaultRoute",
    ]);
  });

  test("TLS policy", () => {
    const { tlsPolicy } = configOf(
      ...good,
      "--tls-min-version=VersionTLS13",
      "--cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    );
    expect(tlsPolicy.minVersion).toBe("TLSv1.3");
    expect(tlsPolicy.cipherSuites[0]).toBe("ECDHE-RSA-AES128-GCM-SHA256");
  });

  test("logging", () => {
    expect(invoke([...good, "-v2", "--log-format=json"]).logging).toEqual({ verbosity: 2, format: "json" });
  });

  test("a value that is accepted but is probably a mistake gets a warning", () => {
    const argv = [
      ...good,
      "--enable-profiling",
      "false",
      "--warn-on-channel-limit=false",
      "--tls-min-version=VersionTLS10",
    ];
    expect(invoke(argv).warnings).toEqual([
      expect.stringContaining("Flag --warn-on-channel-limit has been deprecated"),
      expect.stringContaining('"false" belongs to no flag'),
      expect.stringContaining("--tls-min-version=VersionTLS10 is below TLS 1.2"),
    ]);
  });
});

describe("connections whose peers are not known yet", () => {
  test("have ten seconds for their handshake, and are at most 1024 by default", () => {
    expect(configOf(...good).pending).toEqual({ handshakeTimeoutMs: 10_000, maxPending: 1024 });
    expect(configOf(...good, "--handshake-timeout=2m", "--max-pending-connections=7").pending).toEqual({
      handshakeTimeoutMs: 120_000,
      maxPending: 7,
    });
  });

  test.each(["--handshake-timeout=0s", "--max-pending-connections=0"])("%s is refused", (flag) => {
    expect(() => configOf(...good, flag)).toThrow(`"${flag.split("=")[0]}" flag: must be at least 1`);
  });
});

describe("the watchdog", () => {
  test("gets its times from flags, and can be switched off", () => {
    const argv = ["--watchdog-interval=5s", "--watchdog-timeout=1s", "--watchdog-failures=2", "--readiness=path"];
    expect(configOf(...good, ...argv)).toMatchObject({
      watchdog: { intervalMs: 5_000, timeoutMs: 1_000, failures: 2 },
      readiness: "path",
    });
    expect(configOf(...good, "--watchdog-interval=0").watchdog).toBeUndefined();
  });

  test.each([
    [["--watchdog-interval=-1s"], '"--watchdog-interval" flag: must be at least 0'],
    [["--watchdog-timeout=0"], '"--watchdog-timeout" flag: must be at least 1ms'],
    [["--watchdog-failures=0"], '"--watchdog-failures" flag: must be at least 1'],
    [["--readiness=perhaps"], '"--readiness" flag: must be one of agents, any, all, path'],
    [["--readiness=path", "--watchdog-interval=0"], "--readiness=path needs the watchdog"],
    [["--dump-dir=/tmp", "--flight-recorder=false"], "--dump-dir needs the flight recorder"],
  ])("%j is refused", (argv, message) => {
    expect(() => configOf(...good, ...argv)).toThrow(message);
  });
});

describe("several listeners", () => {
  const listen = "--listen=http-connect+uds:/run/h.sock,mode=0660";

  test("--listen alone replaces upstream's single listener", () => {
    expect(configOf(...cluster, listen).listeners).toMatchObject([{ transport: "uds", path: "/run/h.sock" }]);
    expect(configOf(...cluster, listen, "--server-port=0").listeners).toHaveLength(1);
  });

  test("upstream's flags add a listener when they name one", () => {
    expect(configOf(...cluster, listen, "--uds-name=/run/g.sock").listeners).toMatchObject([
      { mode: "grpc", path: "/run/g.sock", fileMode: 0o770 },
      { mode: "http-connect", path: "/run/h.sock", fileMode: 0o660 },
    ]);
    expect(configOf(...cluster, ...tcp, listen, "--server-port=8090").listeners).toMatchObject([
      { transport: "tcp", port: 8090 },
      { transport: "uds" },
    ]);
  });

  test("a unix socket and a TCP listener with the server's own files", () => {
    const { listeners } = configOf(
      ...good,
      ...tcp,
      "--listen=http-connect+tcp:0.0.0.0:8443",
      "--listen=grpc+uds:/b.sock",
    );
    expect(listeners).toMatchObject([
      { transport: "uds", path: "/run/k.sock" },
      { transport: "tcp", port: 8443, tls: { certFile: cert, keyFile: key, clientCaFile: ca } },
      { transport: "uds", path: "/b.sock" },
    ]);
  });

  test.each([
    [[listen, listen], "two listeners share the address /run/h.sock"],
    [["--listen=http-connect+tcp::8443"], "is a TCP listener and needs cert= or --server-cert"],
    [["--listen=http"], "--listen http must look like MODE+TRANSPORT:ADDRESS"],
    [["--listen=grpc+tcp::1,cert=/nope,key=/nope,ca=/nope"], "error checking --listen TLS file /nope, got stat /nope"],
    [[listen, "--uds-name=/x", "--server-port=8090"], "server port should be set to 0 not 8090 for UDS"],
    [[listen, "--server-port=8090"], "server ca cert must be set when in TCP mode"],
  ])("%j is refused", (argv, message) => {
    expect(() => configOf(...cluster, ...argv)).toThrow(message);
  });
});

describe("refusals, in upstream's words where upstream refuses too", () => {
  test.each<[string, string[], string]>([
    ["nothing given", [], "server ca cert must be set when in TCP mode (uds-name is empty)"],
    [
      "missing key file",
      ["--server-key=/nope"],
      "error checking server key /nope, got stat /nope: no such file or directory",
    ],
    ["key without cert", [`--server-key=${key}`], `cannot have server cert empty when server key is set to "${key}"`],
    [
      "cert without key",
      [`--cluster-cert=${cert}`],
      `cannot have cluster key empty when cluster cert is set to "${cert}"`,
    ],
    ["mode", ["--mode=foo"], `mode must be set to either 'grpc' or 'http-connect' not "foo"`],
    ["uds with a port", ["--uds-name=/x"], "server port should be set to 0 not 8090 for UDS"],
    ["uds with TLS", [...uds, `--server-ca-cert=${ca}`], "server ca cert should not be set for UDS"],
    [
      "ephemeral port",
      [...good, "--agent-port=49152"],
      "please do not try to use ephemeral port 49152 for the agent port",
    ],
    [
      "reserved port",
      [...good, "--health-port=1023"],
      "please do not try to use reserved port 1023 for the health port",
    ],
    [
      "ephemeral before reserved",
      [...good, "--agent-port=1", "--health-port=50000"],
      "please do not try to use ephemeral port 50000 for the health port",
    ],
    [
      "contention profiling alone",
      [...good, "--enable-contention-profiling"],
      "if --enable-contention-profiling is set, --enable-profiling must also be set",
    ],
    [
      "token and CA",
      [...good, "--agent-namespace=a"],
      "--cluster-ca-cert can not be used when agent authentication is enabled",
    ],
    [
      "half a token setup",
      [...uds, "--agent-namespace=a"],
      "--agent-service-account cannot be empty when agent authentication is enabled",
    ],
    [
      "kubeconfig",
      [...good, "--kubeconfig=/nope"],
      'checking KubeconfigPath "/nope", got stat /nope: no such file or directory',
    ],
    ["no strategy", [...good, "--proxy-strategies="], "ProxyStrategies cannot be empty"],
    ["only commas", [...good, "--proxy-strategies=,"], "invalid proxy strategies: proxy strategies cannot be empty"],
    ["odd strategy", [...good, "--proxy-strategies=foo"], "invalid proxy strategies: unknown proxy strategy: foo"],
    ["channel size", [...good, "--xfr-channel-size=0"], "channel size 0 must be greater than 0"],
    [
      "TLS version",
      [...good, "--tls-min-version=1.2"],
      'unsupported TLS version "1.2", supported values are: VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13',
    ],
    [
      "cipher",
      [...good, "--cipher-suites=RC4"],
      "cipher suite RC4 not supported, doesn't exist or considered as insecure",
    ],
    ["labels", [...good, "--lease-label="], "empty string provided"],
    ["label form", [...good, "--lease-label=a=b=c"], "invalid label format: a=b=c"],
    [
      "negative shutdown",
      [...good, "--graceful-shutdown-timeout=-1s"],
      "graceful-shutdown-timeout must be >= 0, got -1s",
    ],
    ["negative dial", [...good, "--backend-dial-timeout=-1ms"], "backend-dial-timeout must be >= 0, got -1ms"],
    ["no agent TLS", uds, "agents are only served over TLS: --cluster-cert and --cluster-key must be set"],
    [
      "no caller TLS",
      [...cluster, `--server-ca-cert=${ca}`],
      "callers on TCP are only served over TLS: --server-cert and --server-key must be set",
    ],
    [
      "open to any agent",
      [...uds, ...cluster.slice(0, 2)],
      "anyone could become an agent: set --cluster-ca-cert, or token authentication (--agent-namespace, --agent-service-account, --authentication-audience), or --allow-unauthenticated-agents",
    ],
    ["socket mode", [...good, "--uds-mode=999"], "socket mode 999 must be three octal digits, e.g. 0660"],
    ["socket owner", [...good, "--uds-owner=root"], "socket owner root must be a numeric uid:gid, e.g. 0:1000"],
    [
      "claims",
      [...good, "--agent-claims-file=/nope"],
      "error checking agent claims file /nope, got stat /nope: no such file or directory",
    ],
    [
      "admin token",
      [...good, "--admin-token-file=/nope"],
      "error checking admin token file /nope, got stat /nope: no such file or directory",
    ],
    ["limits", [...good, "--process-queue-bytes=5"], "--process-queue-bytes must be at least --tunnel-queue-bytes"],
  ])("%s", (_what, argv, message) => {
    const expected = { code: "DB_FLAG_VALUE", message: `failed to validate server options with ${message}` };
    expect(() => invoke(argv)).toThrow(expect.objectContaining(expected));
  });

  test("of a file that is not there the next step is to make it", () => {
    const remedyOf = (remedy: RegExp) => expect.objectContaining({ remedy: expect.stringMatching(remedy) });
    expect(() => invoke([...good, "--admin-token-file=/nope"])).toThrow(remedyOf(/^Make it, .*openssl rand -hex 32/));
    expect(() => invoke([...good, "--agent-claims-file=/nope"])).toThrow(remedyOf(/^Create the file, mount/));
  });

  test("the number of packets that wait for a caller may be none, not less", () => {
    expect(() => invoke([...good, "--frontend-write-channel-size=-1"])).toThrow(/"-1" .* must be at least 0/);
    expect(() => invoke([...good, "--frontend-write-channel-size=0"])).not.toThrow();
  });

  test.each([
    ["--log-format=xml", '"--log-format" flag: must be one of text, json'],
    ["--tunnel-queue-bytes=0", '"--tunnel-queue-bytes" flag: must be at least 1'],
  ])("%s is refused where it is read", (flag, message) => {
    expect(() => invoke([...good, flag])).toThrow(message);
  });

  test("ports at the edges are accepted", () => {
    expect(configOf(...good, "--agent-port=1024", "--health-port=49151").agents.port).toBe(1024);
  });

  test("agents without authentication only when asked for", () => {
    const { agents } = configOf(...uds, ...cluster.slice(0, 2), "--allow-unauthenticated-agents");
    expect(agents).toMatchObject({ allowUnauthenticated: true, tls: { clientCaFile: "" } });
  });
});

test("--help lists the flags and checks nothing else", () => {
  const { help } = serverCommand.parse(["--help", "--mode=foo"], {}, "proxy-server");
  expect(help).toContain("Usage:\n  proxy-server [flags]\n");
  expect(help).toContain("      --mode string ");
  expect(help).not.toContain("--warn-on-channel-limit");
});

test("a bad flag wins over --help, as in pflag", () => {
  expect(() => invoke(["--help", "-q"])).toThrow("unknown shorthand flag: 'q' in -q");
});

test("arbitrary arguments: a result or a clean refusal", () => {
  const name = fc.constantFrom(
    "listen",
    "uds-name",
    "uds-owner",
    "proxy-strategies",
    "lease-label",
    "cipher-suites",
    "keepalive-time",
    "agent-port",
    "server-id",
    "mode",
    "x",
  );
  const argument = fc.tuple(name, fc.string({ unit: "binary" })).map(([flag, value]) => `--${flag}=${value}`);
  fc.assert(
    fc.property(fc.array(argument, { maxLength: 4 }), (argv) => {
      try {
        expect(configOf(...good, ...argv).listeners.length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
    }),
    { numRuns: 500 },
  );
});
