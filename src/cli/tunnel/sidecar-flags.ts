/** Every flag of drawbridge sidecar. */
import { FlagSet } from "../flags/flag-set.js";
import { boolean, string, stringArray, stringSlice } from "../flags/flag-value.js";
import type { Environment } from "../framework/invocation.js";
import { addSidecarProcessFlags } from "./sidecar-process-flags.js";

export type SidecarFlags = ReturnType<typeof declareSidecarFlags>["flags"];

// The return type is inferred: one entry a flag, each with the type its kind gives it.
export function declareSidecarFlags(env: Environment, program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string, value = "") => set.add(name, string, value, usage);
  const yesNo = (name: string, usage: string) => set.add(name, boolean, false, usage);
  const flags = {
    listen: set.add(
      "listen",
      stringArray,
      ["socks5://127.0.0.1:8090", "http://127.0.0.1:8092"],
      "Where clients come in, as socks5:// or http:// URL, or socks5+unix:///path; repeatable. Behind a ? follow the" +
        " listener's own resolve=, prefer-ipv4=, fallback-direct=, cloud-bypass=, customer-proxy=, mode=.",
    ),
    frontend: set.add(
      "frontend",
      stringArray,
      ["http-connect+tcp:konnectivity-server-local:8090"],
      "Front door of a proxy-server as http-connect+tcp:HOST:PORT, grpc+tcp:HOST:PORT, http-connect+uds:PATH or" +
        " grpc+uds:PATH, with ,servername= ,ca= ,cert= ,key= where they differ; repeatable, tried in order.",
    ),
    caCertPath: text(
      "ca-cert-path",
      "CA bundle that proxy-servers are verified against.",
      "/etc/konnectivity/proxy-ca/ca.crt",
    ),
    tlsCertPath: text("tls-cert-path", "Certificate shown to proxy-servers.", "/etc/konnectivity/proxy-client/tls.crt"),
    tlsKeyPath: text("tls-key-path", "Key of --tls-cert-path.", "/etc/konnectivity/proxy-client/tls.key"),
    resolve: set.add(
      "resolve",
      stringSlice,
      ["agent"],
      "Who looks names up, in order: services (the cluster's Services), cluster-dns (its DNS, through the tunnel), local" +
        " (this host's resolver), agent (the name goes into the tunnel as it is).",
    ),
    preferIpv4: yesNo("prefer-ipv4", "Use only the IPv4 addresses of names that have some."),
    kubeconfig: text(
      "kubeconfig",
      "The cluster's API, for services and cluster-dns. If empty, the cluster this runs in.",
      env.KUBECONFIG ?? "",
    ),
    clusterDns: text("cluster-dns", "host:port of the cluster's DNS. If empty, its Service is looked up."),
    clusterDomain: text("cluster-domain", "The cluster's own domain.", "cluster.local"),
    dnsSearch: set.add("dns-search", stringSlice, [], "Domains tried behind short names when cluster-dns is asked."),
    fallbackDirect: yesNo(
      "fallback-direct",
      "Dial targets directly from this host while the cluster's DNS is out of reach and this host's DNS knows the name.",
    ),
    cloudBypass: yesNo("connect-directly-to-cloud-apis", "Dial the APIs of cloud providers directly from this host."),
    cloudExclude: set.add("cloud-exclude", stringSlice, [], "Hosts that go through the tunnel all the same."),
    httpProxy: text(
      "http-proxy",
      "The customer's proxy behind the tunnel for plain HTTP: its URL, or file:PATH of a file with it.",
    ),
    httpsProxy: text(
      "https-proxy",
      "The customer's proxy behind the tunnel for everything else: its URL, or file:PATH.",
    ),
    noProxy: text("no-proxy", "What the customer's proxies are not asked for, as in NO_PROXY."),
    proxyTrustBundle: text("proxy-trust-bundle", "More authorities trusted for https:// proxies of the customer, PEM."),
    ...addSidecarProcessFlags(set, program, { healthPort: 8095, logFormat: "text" }),
  };
  return { set, flags };
}
