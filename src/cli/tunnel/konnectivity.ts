/** HyperShift's two proxies, with their flags and defaults, as what they are here: a sidecar with one listener. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Protocol, ResolverName, RoutingConfig } from "../../tunnel/sidecar/config.js";
import { number, text, type Values, yesNo } from "../flags/flag.js";
import { defineCommand, type Input, warnOfWords } from "../framework/define.js";
import { validated } from "./process-flags.js";
import { runSidecar, type SidecarProcessConfig } from "./run-sidecar.js";
import {
  commonRoutingOf,
  customerFlags,
  customerOf,
  frontendTlsOf,
  sidecarConfig,
  sidecarProcessFlags,
  tunnelFlags,
} from "./sidecar.js";

const konnectivityFlags = {
  "konnectivity-hostname": text(
    "Address of the proxy-server; also the name in its certificate.",
    "konnectivity-server-local",
  ),
  "konnectivity-port": number(8090, "Port of the proxy-server's CONNECT frontend."),
  "serving-port": number(8090, "Port that clients connect to, on all interfaces."),
  ...tunnelFlags,
  // None by default: two of these run in one pod and would want the same port.
  ...sidecarProcessFlags({ healthPort: 0, logFormat: "json" }),
};

type KonnectivityFlags = Values<typeof konnectivityFlags>;

export const socks5ProxyCommand = defineCommand({
  purpose: "Serves a SOCKS5 proxy into the hosted cluster, as HyperShift's does.",
  examples: ["konnectivity-socks5-proxy run --resolve-from-guest-cluster-dns"],
  words: "",
  takesOneDash: true,
  flags: {
    ...konnectivityFlags,
    "resolve-from-guest-cluster-dns": yesNo("Look names up in the hosted cluster's DNS, through the tunnel."),
    "resolve-from-management-cluster-dns": yesNo(
      "With --resolve-from-guest-cluster-dns: while that DNS is out of reach, use this pod's and dial directly from this host.",
    ),
    "disable-resolver": yesNo("Look nothing up: names go into the tunnel as they are."),
  },
  config(flags, input) {
    const resolve = resolversOf(flags);
    const fallbackDirect = resolve.includes("cluster-dns") && flags.resolveFromManagementClusterDns;
    return configOf("socks5", flags, input, () => ({ resolve, fallbackDirect }));
  },
  run: ({ config, logging }) => runSidecar(config, logging, () => checkCluster(config)),
});

export const httpsProxyCommand = defineCommand({
  purpose: "Serves an HTTP proxy into the hosted cluster, as HyperShift's does.",
  examples: ["konnectivity-https-proxy run --serving-port=8092"],
  words: "",
  takesOneDash: true,
  flags: { ...konnectivityFlags, ...customerFlags },
  config: (flags, input) =>
    configOf("http", flags, input, () => ({ resolve: ["services", "cluster-dns"], ...customerOf(flags) })),
  run: ({ config, logging }) => runSidecar(config, logging, () => checkCluster(config)),
});

/** As HyperShift's, they end where they could never look a name up; the cluster itself may come later. */
async function checkCluster({ listeners }: SidecarProcessConfig): Promise<void> {
  for (const { routing } of listeners) {
    if (routing.resolve.every((resolver) => resolver === "agent")) continue;
    const { kubeconfig } = routing;
    const { openKubeApi } = await import("../../cluster/kube/open.js");
    try {
      (await openKubeApi({ kubeconfig, qps: 0, burst: 0 })).close();
    } catch (reason) {
      if (kubeconfig !== "") throw reason;
      throw new DrawbridgeError("DB_KUBECONFIG", "KUBECONFIG is empty, so there is no cluster to look names up in.", {
        cause: reason,
        remedy: "Set KUBECONFIG to the file of the hosted cluster, or look nothing up with --disable-resolver.",
      });
    }
  }
}

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

/** Tells every fault at once, as HyperShift does it. */
function checkAll(flags: KonnectivityFlags): void {
  const texts = {
    "ca-cert-path": flags.caCertPath,
    "tls-cert-path": flags.tlsCertPath,
    "tls-key-path": flags.tlsKeyPath,
    "konnectivity-hostname": flags.konnectivityHostname,
  };
  const ports = { "konnectivity-port": flags.konnectivityPort, "serving-port": flags.servingPort };
  const faults = [
    ...Object.entries(texts).map(([name, text]) => (text === "" ? `--${name} is required` : "")),
    ...Object.entries(ports).map(([name, port]) =>
      port < 1 || port > 65_535 ? `--${name} must be from 1 to 65535, got ${port}` : "",
    ),
  ].filter((fault) => fault !== "");
  if (faults.length > 0) throw new Error(faults.join("; "));
}

/** `own` gives the routing that only one of the two commands sets. */
function configOf(protocol: Protocol, flags: KonnectivityFlags, input: Input, own: () => Partial<RoutingConfig>) {
  // HyperShift writes `run` in front of the flags; it means nothing.
  warnOfWords(input.words[0] === "run" ? input.words.slice(1) : input.words, input);
  const { konnectivityHostname: host, konnectivityPort, servingPort } = flags;
  return validated("failed validation:", () => {
    checkAll(flags);
    const routing: RoutingConfig = {
      ...commonRoutingOf(flags, input.env),
      frontends: [{ mode: "http-connect", host, port: konnectivityPort, tls: frontendTlsOf(flags) }],
      kubeconfig: input.env.KUBECONFIG ?? "",
      ...own(),
    };
    const listener = { name: `${protocol}://:${servingPort}`, protocol, address: { host: "", port: servingPort } };
    return sidecarConfig(flags, [{ ...listener, routing }]);
  });
}
