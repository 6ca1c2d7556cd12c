import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import agentCommand from "./agent.js";
import type { AgentProcessConfig } from "./run-agent.js";

// Any files will do: flags only check that they exist.
const file = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url));
const [cert, key, ca, token] = [file("README.md"), file("package.json"), file("LICENSE"), file("biome.json")];
const good = [`--ca-cert=${ca}`];

function invoke(argv: readonly string[], env = {}) {
  const invocation = agentCommand.parse(argv, env, "proxy-agent");
  if (invocation.help !== undefined) throw new Error("help was printed");
  return { ...invocation.config, warnings: invocation.warnings };
}

function configOf(...argv: string[]): AgentProcessConfig {
  return invoke([...good, ...argv]).config;
}

describe("defaults", () => {
  test("a minimal command line", () => {
    const { config, logging, warnings } = invoke(good, { PROXY_AGENT_ID: "a1" });
    expect(config).toEqual({
      agentId: "a1",
      identifiers: "",
      servers: [{ host: "127.0.0.1", port: 8091 }],
      tls: { caFile: ca, certFile: "", keyFile: "", alpn: [] },
      tokenFile: "",
      health: { host: "", port: 8093 },
      admin: { host: "127.0.0.1", port: 8094, tokenFile: "", profiling: false },
      syncIntervalMs: 1_000,
      syncIntervalCapMs: 10_000,
      probeIntervalMs: 1_000,
      keepaliveMs: 3_600_000,
      syncForever: false,
      serverCountSource: "default",
      kube: { kubeconfig: "", qps: 0, burst: 0 },
      xfrChannelSize: 150,
      warnOnChannelLimit: false,
      headerTimeoutMs: 15_000,
      drainTimeoutMs: 0,
      readyWith: "any",
      timeBoxed: false,
      allow: [],
      deny: [],
      limits: { tunnelQueueBytes: 4 << 20, processQueueBytes: 256 << 20, creditBudgetBytes: 128 << 20 },
      flightRecorder: true,
      dumpDir: "",
    });
    expect(logging).toEqual({ verbosity: 4, format: "text" });
    expect(warnings).toEqual([]);
  });

  test("the agent ID: flag, then environment, then a new one each time", () => {
    expect(invoke([...good, "--agent-id=flag"], { PROXY_AGENT_ID: "env" }).config.agentId).toBe("flag");
    expect(configOf().agentId).not.toBe(configOf().agentId);
  });
});

describe("what flags become", () => {
  test("several proxy-servers, each with its own port or the common one", () => {
    const argv = ["--proxy-server-host=a,b:9000", "--proxy-server-host=[fd00::1]:1", "--proxy-server-port=8132"];
    expect(configOf(...argv).servers).toEqual([
      { host: "a", port: 8132 },
      { host: "b", port: 9000 },
      { host: "fd00::1", port: 1 },
    ]);
  });

  test("a list that is given as pflag prints an empty one is empty", () => {
    expect(configOf("--alpn-proto=[]").tls.alpn).toEqual([]);
    expect(configOf("--alpn-proto=x,y", "--alpn-proto=z").tls.alpn).toEqual(["x", "y", "z"]);
  });

  test("leases, also under the name of older versions", () => {
    expect(configOf("--lease-label=a=b").leases).toBeUndefined();
    const leases = { namespace: "kube-system", labelSelector: "k8s-app=konnectivity-server" };
    expect(configOf("--count-server-leases").leases).toEqual(leases);
    expect(configOf("--count-server-leases", "--lease-label=a in (b)").leases?.labelSelector).toBe("a in (b)");
    expect(configOf("--count-server-leases", "--lease-label-selector=").leases?.labelSelector).toBe("");
  });

  test("times: gRPC's smallest keepalive, no pause of nothing", () => {
    expect(configOf("--keepalive-time=1s").keepaliveMs).toBe(10_000);
    expect(configOf("--sync-interval=0", "--probe-interval=-1s")).toMatchObject({
      syncIntervalMs: 1,
      probeIntervalMs: 1,
    });
    expect(configOf("--drain-timeout=30s", "--server-header-timeout=2s", "--time-boxed")).toMatchObject({
      drainTimeoutMs: 30_000,
      timeBoxed: true,
      headerTimeoutMs: 2_000,
    });
  });

  test("files, rules and the rest", () => {
    const config = configOf(
      `--agent-cert=${cert}`,
      `--agent-key=${key}`,
      `--service-account-token-path=${token}`,
      "--agent-identifiers=ipv4=10.0.0.1&default-route=true",
      "--server-count-source=max",
      "--allow=10.0.0.0/8,db.example:5432",
      "--deny=10.1.0.0/16",
      "--deny=:22",
    );
    expect(config).toMatchObject({
      tls: { certFile: cert, keyFile: key },
      tokenFile: token,
      identifiers: "ipv4=10.0.0.1&default-route=true",
      serverCountSource: "max",
      allow: ["10.0.0.0/8", "db.example:5432"],
      deny: ["10.1.0.0/16", ":22"],
    });
  });
});

describe("refusals, in upstream's words where upstream refuses too", () => {
  test.each<[string, string[], string]>([
    ["missing key", ["--agent-key=/nope"], "error checking agent key /nope, got stat /nope: no such file or directory"],
    ["key without cert", [`--agent-key=${key}`], `cannot have agent cert empty when agent key is set to "${key}"`],
    [
      "missing CA",
      ["--ca-cert=/nope"],
      "error checking agent CA cert /nope, got stat /nope: no such file or directory",
    ],
    ["server port", ["--proxy-server-port=0"], "proxy server port 0 must be greater than 0"],
    ["health port", ["--health-server-port=-1"], "health server port -1 must be greater than 0"],
    ["admin port", ["--admin-server-port=0"], "admin server port 0 must be greater than 0"],
    ["channel size", ["--xfr-channel-size=0"], "channel size 0 must be greater than 0"],
    [
      "contention profiling alone",
      ["--enable-contention-profiling"],
      "if --enable-contention-profiling is set, --enable-profiling must also be set",
    ],
    ["intervals", ["--sync-interval=11s"], "sync interval 11s must be less than sync interval cap 10s"],
    [
      "token",
      ["--service-account-token-path=/nope"],
      "error checking service account token path /nope, got stat /nope: no such file or directory",
    ],
    ["identifier", ["--agent-identifiers=uid=3"], "agent address is invalid: unknown address type: uid"],
    ["semicolon", ["--agent-identifiers=a;b"], "agent address is invalid: invalid semicolon separator in query"],
    ["escape", ["--agent-identifiers=ipv4=%zz"], 'agent address is invalid: invalid URL escape "%zz"'],
    [
      "kubeconfig",
      ["--kubeconfig=/nope"],
      'error checking KubeconfigPath "/nope", got stat /nope: no such file or directory',
    ],
    ["count source", ["--server-count-source=x"], "--server-count-source must be one of '', 'default', 'max', got x"],
    [
      "no host",
      ["--proxy-server-host="],
      "proxy server host cannot be empty: name the proxy-server in --proxy-server-host",
    ],
    ["no CA", ["--ca-cert="], "proxy-servers are only trusted by a CA bundle: --ca-cert must be set"],
    ["port beyond TCP", ["--health-server-port=70000"], "--health-server-port must be at most 65535, got 70000"],
  ])("%s", (_what, argv, message) => {
    const expected = { code: "DB_FLAG_VALUE", message: `failed to validate agent options with ${message}` };
    expect(() => configOf(...argv)).toThrow(expect.objectContaining(expected));
  });

  test.each([
    ["--server-header-timeout=0", '"--server-header-timeout" flag: must be at least 1ms'],
    ["--drain-timeout=-1s", '"--drain-timeout" flag: must be at least 0'],
  ])("%s is refused where it is read", (flag, message) => {
    expect(() => configOf(flag)).toThrow(message);
  });

  test("a bad label selector is refused where it is read", () => {
    expect(() => configOf("--lease-label-selector==x")).toThrow(
      'invalid argument "=x" for "--lease-label-selector" flag:',
    );
  });
});

test("--help names the program and hides the old name of the selector", () => {
  const { help } = agentCommand.parse(["-h"], {}, "drawbridge agent");
  expect(help).toContain("Usage:\n  drawbridge agent [flags]\n");
  expect(help).not.toMatch(/--lease-label /);
});

test("arbitrary arguments: a result or a clean refusal", () => {
  const name = fc.constantFrom(
    "proxy-server-host",
    "agent-identifiers",
    "alpn-proto",
    "lease-label",
    "sync-interval",
    "allow",
    "ca-cert",
  );
  const argument = fc.tuple(name, fc.string({ unit: "binary" })).map(([flag, value]) => `--${flag}=${value}`);
  fc.assert(
    fc.property(fc.array(argument, { maxLength: 4 }), (argv) => {
      try {
        expect(configOf(...argv).servers.length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
    }),
    { numRuns: 500 },
  );
});
