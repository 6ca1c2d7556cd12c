/** Command lines that real clusters run, taken over word for word apart from file names. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { Command, Environment } from "./framework/define.js";
import agentCommand from "./tunnel/agent.js";
import serverCommand from "./tunnel/server.js";

function parsed<Config extends object>(command: Command<Config>, argv: readonly string[], env: Environment) {
  const invocation = command.parse(argv, env, "proxy");
  if (invocation.help !== undefined) throw new Error("help was printed");
  return { ...invocation.config, warnings: invocation.warnings };
}
const parseServerArgs = (argv: readonly string[], env: Environment) => parsed(serverCommand, argv, env);
const parseAgentArgs = (argv: readonly string[], env: Environment) => parsed(agentCommand, argv, env);

// Any files will do: flags only check that they exist.
const file = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const [cert, key, ca] = [file("README.md"), file("package.json"), file("LICENSE")];
const [kubeconfig, token] = [file("tsconfig.json"), file("biome.json")];

test("HyperShift's server", () => {
  const invocation = parseServerArgs(
    [
      ...["--logtostderr=true", "--log-file-max-size=0"],
      ...["--cluster-cert", cert, "--cluster-key", key, "--cluster-ca-cert", ca],
      ...["--server-cert", cert, "--server-key", key, "--server-ca-cert", ca],
      ...["--server-port", "8090", "--agent-port", "8091", "--health-port", "2041", "--admin-port=8093"],
      ...["--mode=http-connect", "--proxy-strategies=destHost,defaultRoute"],
      ...["--keepalive-time", "30s", "--frontend-keepalive-time", "30s", "--server-count", "3"],
    ],
    {},
  );
  expect(invocation).toMatchObject({
    config: {
      listeners: [{ mode: "http-connect", transport: "tcp", port: 8090 }],
      strategies: ["destHost", "defaultRoute"],
      health: { port: 2041 },
      admin: { port: 8093 },
      keepaliveMs: 30_000,
      frontendKeepaliveMs: 30_000,
      serverCount: 3,
    },
    warnings: [],
  });
});

const hypershiftAgent = [
  ...["--logtostderr=true", "--ca-cert", ca, "--agent-cert", cert, "--agent-key", key],
  ...["--proxy-server-host", "konnectivity.example", "--proxy-server-port", "443", "--health-server-port", "2041"],
  ...[
    "--keepalive-time",
    "30s",
    "--probe-interval",
    "5s",
    "--sync-interval",
    "5s",
    "--sync-interval-cap",
    "30s",
    "--v",
    "3",
  ],
];

test.each(["--agent-identifiers=default-route=true", "--agent-identifiers=ipv4=172.30.0.1&ipv4=172.30.0.10"])(
  "HyperShift's agent with %s",
  (identifiers) => {
    expect(parseAgentArgs([...hypershiftAgent, identifiers], {})).toMatchObject({
      config: {
        servers: [{ host: "konnectivity.example", port: 443 }],
        identifiers: identifiers.replace("--agent-identifiers=", ""),
        keepaliveMs: 30_000,
        probeIntervalMs: 5_000,
        syncIntervalMs: 5_000,
        syncIntervalCapMs: 30_000,
      },
      logging: { verbosity: 3 },
      warnings: [],
    });
  },
);

test("kind's server: unix socket, gRPC, tokens", () => {
  const invocation = parseServerArgs(
    [
      ...["--logtostderr=true", "--uds-name=/etc/kubernetes/konnectivity-server/konnectivity-server.socket"],
      ...["--delete-existing-uds-file", `--cluster-cert=${cert}`, `--cluster-key=${key}`, "--mode=grpc"],
      ...["--server-port=0", "--agent-port=8132", "--admin-port=8133", "--health-port=8134"],
      ...["--agent-namespace=kube-system", "--agent-service-account=konnectivity-agent"],
      ...[`--kubeconfig=${kubeconfig}`, "--authentication-audience=system:konnectivity-server"],
    ],
    {},
  );
  expect(invocation).toMatchObject({
    config: {
      listeners: [{ mode: "grpc", transport: "uds" }],
      agents: { port: 8132, tokenAuth: { audience: "system:konnectivity-server" } },
      kube: { kubeconfig },
    },
    warnings: [],
  });
});

test("kind's agent: projected token, host identifier", () => {
  const invocation = parseAgentArgs(
    [
      ...[
        "--logtostderr=true",
        `--ca-cert=${ca}`,
        "--proxy-server-host=konnectivity.example",
        "--proxy-server-port=8132",
      ],
      ...["--admin-server-port=8133", "--health-server-port=8134", `--service-account-token-path=${token}`],
      "--agent-identifiers=ipv4=172.18.0.2",
    ],
    {},
  );
  expect(invocation).toMatchObject({ config: { tokenFile: token, health: { port: 8134 } }, warnings: [] });
});

test("upstream's own integration suite: every flag of the agent, as pflag prints its value", () => {
  const invocation = parseAgentArgs(
    [
      ...["--admin-bind-address=127.0.0.1", "--admin-server-port=40001", `--agent-cert=${cert}`, "--agent-id=agent-1"],
      ...[
        "--agent-identifiers=",
        `--agent-key=${key}`,
        "--alpn-proto=[]",
        `--ca-cert=${ca}`,
        "--count-server-leases=false",
      ],
      ...["--enable-contention-profiling=false", "--enable-profiling=false", "--health-server-host=127.0.0.1"],
      ...[
        "--health-server-port=40002",
        "--keepalive-time=1h0m0s",
        "--kube-api-content-type=application/vnd.kubernetes.protobuf",
      ],
      ...["--kubeconfig=", "--lease-label=k8s-app=konnectivity-server", "--lease-namespace=kube-system"],
      ...["--probe-interval=100ms", "--proxy-server-host=127.0.0.1", "--proxy-server-port=40000"],
      ...[
        "--server-count-source=default",
        "--service-account-token-path=",
        "--sync-forever=false",
        "--sync-interval=100ms",
      ],
      ...["--sync-interval-cap=1s", "--warn-on-channel-limit=false", "--xfr-channel-size=150"],
    ],
    {},
  );
  expect(invocation).toMatchObject({
    config: {
      agentId: "agent-1",
      tls: { alpn: [] },
      syncIntervalMs: 100,
      servers: [{ host: "127.0.0.1", port: 40000 }],
    },
    warnings: [],
  });
});

test("Kamaji's server and agent: flags sorted by name, a socket, tokens, and -v with one dash", () => {
  const server = parseServerArgs(
    [
      ...["--admin-port=8133", "--agent-namespace=kube-system", "--agent-port=8132"],
      ...["--agent-service-account=konnectivity-agent", "--authentication-audience=system:konnectivity-server"],
      ...[`--cluster-cert=${cert}`, `--cluster-key=${key}`, "--health-port=8134", `--kubeconfig=${kubeconfig}`],
      ...["--mode=grpc", "--server-count=2", "--server-port=0"],
      "--uds-name=/run/konnectivity/konnectivity-server.socket",
    ],
    {},
  );
  expect(server).toMatchObject({
    config: { listeners: [{ mode: "grpc", transport: "uds" }], agents: { port: 8132 }, serverCount: 2 },
    warnings: [],
  });
  const agent = parseAgentArgs(
    [
      ...["--admin-server-port=8133", `--ca-cert=${ca}`, "--drain-timeout=20s", "--health-server-port=8134"],
      ...["--logtostderr=true", "--proxy-server-host=192.0.2.7", "--proxy-server-port=8132"],
      ...[`--service-account-token-path=${token}`, "-v=8"],
    ],
    {},
  );
  expect(agent).toMatchObject({ config: { tokenFile: token }, logging: { verbosity: 8 }, warnings: [] });
});
