import { writeFileSync } from "node:fs";
import type { Pair } from "./certificates.js";

/** One way a kube-apiserver can talk to a proxy-server. */
export interface Frontend {
  readonly title: string;
  readonly mode: "grpc" | "http-connect";
  readonly transport: "uds" | "tcp";
  /** How kube-apiserver's own metrics name the protocol. */
  readonly protocol: "grpc" | "http_connect";
}

export const grpcOverUds: Frontend = {
  title: "GRPC over UDS",
  mode: "grpc",
  transport: "uds",
  protocol: "grpc",
};

export const connectOverUds: Frontend = {
  title: "HTTPConnect over UDS",
  mode: "http-connect",
  transport: "uds",
  protocol: "http_connect",
};

export const connectOverTcp: Frontend = {
  title: "HTTPConnect over TCP with mTLS",
  mode: "http-connect",
  transport: "tcp",
  protocol: "http_connect",
};

/** Where the frontend is and what opens it, seen from the control plane. */
export interface FrontendPlace {
  readonly socket: string;
  readonly host: string;
  readonly port: number;
  readonly caFile: string;
  readonly client: Pair;
}

/** Writes the EgressSelectorConfiguration that sends cluster traffic through this frontend. */
export function writeEgressConfig(path: string, frontend: Frontend, place: FrontendPlace): string {
  const transport =
    frontend.transport === "uds"
      ? { uds: { udsName: place.socket } }
      : {
          tcp: {
            url: `https://${place.host}:${place.port}`,
            tlsConfig: { caBundle: place.caFile, clientCert: place.client.cert, clientKey: place.client.key },
          },
        };
  const proxyProtocol = frontend.mode === "grpc" ? "GRPC" : "HTTPConnect";
  const config = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name: "cluster", connection: { proxyProtocol, transport } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}
