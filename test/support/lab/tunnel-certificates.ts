import { Authority, type Pair } from "./certificates.js";
import type { Scope } from "./scope.js";

/** A throw-away authority and the certificates of everyone who takes part in the tunnel. */
export interface TunnelCertificates {
  readonly ca: Authority;
  readonly server: Pair;
  readonly agent: Pair;
  readonly frontendClient: Pair;
}

export function makeTunnelCertificates(scope: Scope, host: string, env = {}): TunnelCertificates {
  const ca = new Authority(scope.folder, "tunnel-ca", env);
  return {
    ca,
    server: ca.issue({ file: "tunnel-server", name: "proxy-server", use: "server", ips: [host], dns: ["localhost"] }),
    agent: ca.issue({ file: "tunnel-agent", name: "proxy-agent", use: "client" }),
    frontendClient: ca.issue({ file: "tunnel-frontend", name: "kube-apiserver-egress", use: "client" }),
  };
}
