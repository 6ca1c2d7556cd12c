import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { get } from "../../test/support/processes/http.js";
import { freePorts } from "../../test/support/processes/ports.js";
import { connectFrontend, type Frontend, grpcFrontend } from "../callers/frontends.js";
import type { Place } from "../isolation/place.js";
import type { Pki } from "../pki.js";
import type { Processes, Running } from "../processes/processes.js";
import { ready } from "../processes/ready.js";
import { Admin } from "./admin.js";
import { shipped } from "./executables.js";

/** Three ways in at once, all to the same agents. */
export interface Frontends {
  readonly connectUds: Frontend;
  readonly connectTcp: Frontend;
  readonly grpcUds: Frontend;
}

export interface ProxyServer {
  readonly process: Running;
  readonly frontends: Frontends;
  readonly admin: Admin;
  readonly frontendPort: number;
  readonly agentPort: number;
  isReady(): Promise<boolean>;
}

/** Known beforehand, because the kube-apiserver is told of it before the server is there. */
export const connectSocket = (folder: string): string => join(folder, "connect.sock");

export async function startServer(processes: Processes, folder: string, place: Place, pki: Pki): Promise<ProxyServer> {
  const [frontendPort, agentPort, healthPort, adminPort] = (await freePorts(4)) as [number, number, number, number];
  const connectPath = connectSocket(folder);
  const grpcSocket = join(folder, "grpc.sock");
  const tokenFile = join(folder, "admin-token");
  const token = randomBytes(16).toString("hex");
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const [frontend, agentListener] = [pki.frontend(), pki.agentListener()];
  const process = processes.start("proxy-server", [
    ...shipped("proxy-server"),
    `--listen=http-connect+uds:${connectPath},mode=0600`,
    `--listen=http-connect+tcp:127.0.0.1:${frontendPort},cert=${frontend.cert},key=${frontend.key},ca=${frontend.ca}`,
    `--listen=grpc+uds:${grpcSocket},mode=0600`,
    `--agent-bind-address=${place.serverHost}`,
    `--agent-port=${agentPort}`,
    `--cluster-cert=${agentListener.cert}`,
    `--cluster-key=${agentListener.key}`,
    `--cluster-ca-cert=${agentListener.ca}`,
    "--health-bind-address=127.0.0.1",
    `--health-port=${healthPort}`,
    `--admin-port=${adminPort}`,
    `--admin-token-file=${tokenFile}`,
  ]);
  const probe = async (path: string) => (await get(healthPort, path)).status === 200;
  await ready(process, "to listen", 15_000, () => probe("/healthz"));
  return {
    process,
    admin: new Admin(adminPort, token),
    frontendPort,
    agentPort,
    isReady: () => probe("/readyz"),
    frontends: {
      connectUds: connectFrontend("HTTP CONNECT on a Unix socket", { transport: "uds", path: connectPath }),
      connectTcp: connectFrontend("HTTP CONNECT on TCP with mTLS", {
        transport: "tcp",
        host: "127.0.0.1",
        port: frontendPort,
        certs: pki.caller(),
      }),
      grpcUds: grpcFrontend("gRPC on a Unix socket", grpcSocket),
    },
  };
}
