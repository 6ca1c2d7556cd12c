/** The flags of HyperShift's two proxies, with their names and defaults, then ours. */
import { FlagSet } from "../flags/flag-set.js";
import { boolean, type FlagKind, string } from "../flags/flag-value.js";
import { parseUnsigned64 } from "../flags/go-number.js";
import { quote } from "../flags/go-text.js";
import { addSidecarProcessFlags } from "./sidecar-process-flags.js";

const uint32: FlagKind<number> = {
  typeName: "uint32",
  read: (text) => {
    const value = parseUnsigned64(text);
    if (value >= 2 ** 32) throw new Error(`strconv.ParseUint: parsing ${quote(text)}: value out of range`);
    return value;
  },
  showDefault: (value) => (value === 0 ? undefined : String(value)),
};

export type KonnectivityFlags = ReturnType<typeof addKonnectivityFlags>;

// The return types are inferred: one entry a flag, each with the type its kind gives it.
function addKonnectivityFlags(set: FlagSet, program: string) {
  const text = (name: string, value: string, usage: string) => set.add(name, string, value, usage);
  const yesNo = (name: string, usage: string) => set.add(name, boolean, false, usage);
  return {
    hostname: text(
      "konnectivity-hostname",
      "konnectivity-server-local",
      "Where the proxy-server is; also the name in its certificate.",
    ),
    port: set.add("konnectivity-port", uint32, 8090, "Port of the proxy-server's CONNECT frontend."),
    servingPort: set.add("serving-port", uint32, 8090, "Port that clients come to, on all interfaces."),
    caCertPath: text(
      "ca-cert-path",
      "/etc/konnectivity/proxy-ca/ca.crt",
      "CA bundle that the proxy-server is verified against.",
    ),
    tlsCertPath: text(
      "tls-cert-path",
      "/etc/konnectivity/proxy-client/tls.crt",
      "Certificate shown to the proxy-server.",
    ),
    tlsKeyPath: text("tls-key-path", "/etc/konnectivity/proxy-client/tls.key", "Key of --tls-cert-path."),
    cloudBypass: yesNo("connect-directly-to-cloud-apis", "Dial the APIs of cloud providers straight from here."),
    preferIpv4: yesNo("prefer-ipv4", "Use only the IPv4 addresses of names that have some."),
    // None by default: two of these run in one pod and would want the same port.
    ...addSidecarProcessFlags(set, program, { healthPort: 0, logFormat: "json" }),
  };
}

export function declareSocks5Flags(program: string) {
  const set = new FlagSet();
  const yesNo = (name: string, usage: string) => set.add(name, boolean, false, usage);
  const flags = {
    ...addKonnectivityFlags(set, program),
    guestDns: yesNo("resolve-from-guest-cluster-dns", "Look names up in the hosted cluster's DNS, through the tunnel."),
    managementDns: yesNo(
      "resolve-from-management-cluster-dns",
      "With the flag above: while that DNS is out of reach, use this pod's and dial straight from here.",
    ),
    disableResolver: yesNo("disable-resolver", "Look nothing up: names go into the tunnel as they are."),
  };
  return { set, flags };
}

export type HttpsFlags = ReturnType<typeof declareHttpsFlags>["flags"];

export function declareHttpsFlags(program: string) {
  const set = new FlagSet();
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  const flags = {
    ...addKonnectivityFlags(set, program),
    httpProxy: text(
      "http-proxy",
      "The customer's proxy for plain HTTP requests: its URL, or file:PATH of a file with it.",
    ),
    httpsProxy: text("https-proxy", "The customer's proxy for CONNECT: its URL, or file:PATH."),
    noProxy: text("no-proxy", "What the customer's proxies are not asked for, as in NO_PROXY."),
  };
  return { set, flags };
}
