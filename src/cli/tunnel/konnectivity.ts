/** HyperShift's two proxies, with their flags and defaults, as what they are here: a sidecar with one listener. */
import type { Protocol } from "../../tunnel/sidecar/config.js";
import {
  DEFAULT_FALLBACK,
  DEFAULT_RESOLUTION,
  DEFAULT_ROUTING,
  directFromEnvironment,
  type ResolverName,
  type RoutingConfig,
} from "../../tunnel/sidecar/config.js";
import { type Flag, text, type Values, yesNo } from "../flags/flag.js";
import { parseInteger } from "../flags/go-values.js";
import { defineCommand, type Input, warnOfWords } from "../framework/define.js";
import { validated } from "./process-flags.js";
import {
  customerFlags,
  customerOf,
  routingTimesOf,
  runSidecarProcess,
  sidecarConfig,
  sidecarProcessFlags,
  tunnelFlags,
} from "./sidecar.js";

const uint32 = (value: number, usage: string): Flag<number> => ({
  kind: {
    typeName: "uint32",
    read: (given) => {
      const port = parseInteger(given, 0, 64);
      if (port < 0 || port >= 2 ** 32) throw new Error("value out of range");
      return port;
    },
    showDefault: String,
  },
  value,
  usage,
});

const konnectivityFlags = {
  "konnectivity-hostname": text(
    "Address of the proxy-server; also the name in its certificate.",
    "konnectivity-server-local",
  ),
  "konnectivity-port": uint32(8090, "Port of the proxy-server's CONNECT frontend."),
  "serving-port": uint32(8090, "Port that clients connect to, on all interfaces."),
  ...tunnelFlags,
  // None by default: two of these run in one pod and would want the same port.
  ...sidecarProcessFlags({ healthPort: 0, logFormat: "json" }),
};

type KonnectivityFlags = Values<typeof konnectivityFlags>;

export const socks5ProxyCommand = defineCommand({
  purpose: "Serves a SOCKS5 proxy into the hosted cluster, as HyperShift's does.",
  examples: ["konnectivity-socks5-proxy run --resolve-from-guest-cluster-dns"],
  words: "",
  flags: {
    ...konnectivityFlags,
    "resolve-from-guest-cluster-dns": yesNo("Look names up in the hosted cluster's DNS, through the tunnel."),
    "resolve-from-management-cluster-dns": yesNo(
      "With --resolve-from-guest-cluster-dns: while that DNS is out of reach, use this pod's and dial directly from this host.",
    ),
    "disable-resolver": yesNo("Look nothing up: names go into the tunnel as they are."),
  },
  config(flags, input) {
    check(flags);
    const order = resolversOf(flags);
    const direct = order.includes("cluster-dns") && flags.resolveFromManagementClusterDns;
    const routing = { ...routingOf(flags, input, order), fallback: { ...DEFAULT_FALLBACK, direct } };
    return configOf("socks5", flags, routing, input);
  },
  run: runSidecarProcess,
});

export const httpsProxyCommand = defineCommand({
  purpose: "Serves an HTTP proxy into the hosted cluster, as HyperShift's does.",
  examples: ["konnectivity-https-proxy run --serving-port=8092"],
  words: "",
  flags: { ...konnectivityFlags, ...customerFlags },
  config(flags, input) {
    check(flags);
    const routing = routingOf(flags, input, ["services", "cluster-dns"]);
    const customer = validated("failed validation:", () => customerOf(flags));
    return configOf("http", flags, { ...routing, customer: { ...DEFAULT_ROUTING.customer, ...customer } }, input);
  },
  run: runSidecarProcess,
});

interface ResolverFlags {
  readonly disableResolver: boolean;
  readonly resolveFromGuestClusterDns: boolean;
  readonly resolveFromManagementClusterDns: boolean;
}

function resolversOf(flags: ResolverFlags): ResolverName[] {
  if (flags.disableResolver) return ["agent"];
  if (!flags.resolveFromGuestClusterDns) return ["services", "local"];
  // With both kinds of DNS at hand, a name that neither knows is passed on as it is.
  return flags.resolveFromManagementClusterDns ? ["services", "cluster-dns", "agent"] : ["services", "cluster-dns"];
}

/** Every fault at once, as HyperShift does it. */
function check(flags: KonnectivityFlags): void {
  const faults: string[] = [];
  for (const [name, value] of [
    ["ca-cert-path", flags.caCertPath],
    ["tls-cert-path", flags.tlsCertPath],
    ["tls-key-path", flags.tlsKeyPath],
    ["konnectivity-hostname", flags.konnectivityHostname],
  ]) {
    if (value === "") faults.push(`--${name} is required`);
  }
  for (const [name, port] of [
    ["konnectivity-port", flags.konnectivityPort],
    ["serving-port", flags.servingPort],
  ] as const) {
    if (port < 1 || port > 65_535) faults.push(`--${name} must be from 1 to 65535, got ${port}`);
  }
  validated("failed validation:", () => {
    if (faults.length > 0) throw new Error(faults.join("; "));
  });
}

function routingOf(flags: KonnectivityFlags, { env }: Input, order: readonly ResolverName[]): RoutingConfig {
  const tls = { caFile: flags.caCertPath, certFile: flags.tlsCertPath, keyFile: flags.tlsKeyPath };
  return {
    ...DEFAULT_ROUTING,
    frontends: [{ mode: "http-connect", host: flags.konnectivityHostname, port: flags.konnectivityPort, tls }],
    own: [],
    resolution: {
      ...DEFAULT_RESOLUTION,
      order,
      preferIpv4: flags.preferIpv4,
      kube: { ...DEFAULT_RESOLUTION.kube, kubeconfig: env.KUBECONFIG ?? "" },
    },
    cloud: { bypass: flags.connectDirectlyToCloudApis, exclude: [] },
    direct: directFromEnvironment(env),
    ...routingTimesOf(flags),
  };
}

function configOf(protocol: Protocol, flags: KonnectivityFlags, routing: RoutingConfig, input: Input) {
  // HyperShift writes `run` in front of the flags; it means nothing.
  warnOfWords(input.words[0] === "run" ? input.words.slice(1) : input.words, input);
  const { servingPort: port } = flags;
  return sidecarConfig(flags, [{ name: `${protocol}://:${port}`, protocol, address: { host: "", port }, routing }]);
}
