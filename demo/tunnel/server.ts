import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { get } from "../../test/support/processes/http.js";
import { freePorts } from "../../test/support/processes/ports.js";
import { connectDoor, type Door, grpcDoor } from "../callers/doors.js";
import type { Place } from "../isolation/place.js";
import type { Pki } from "../pki.js";
import type { Processes, Running } from "../processes/processes.js";
import { ready } from "../processes/ready.js";
import { Admin } from "./admin.js";
import { shipped } from "./executables.js";

/** Three ways in at once, all to the same agents. */
export interface Doors {
  readonly connectUds: Door;
  readonly connectTcp: Door;
  readonly grpcUds: Door;
}

export interface ProxyServer {
  readonly process: Running;
  readonly doors: Doors;
  readonly admin: Admin;
  readonly doorPort: number;
  readonly agentPort: number;
  isReady(): Promise<boolean>;
}

/** Known beforehand, because the kube-apiserver is told of it before the server is there. */
export const connectSocket = (folder: string): string => join(folder, "connect.sock");

export async function startServer(processes: Processes, folder: string, place: Place, pki: Pki): Promise<ProxyServer> {
  const [doorPort, agentPort, healthPort, adminPort] = (await freePorts(4)) as [number, number, number, number];
  const connectPath = connectSocket(folder);
  const grpcSocket = join(folder, "grpc.sock");
  const tokenFile = join(folder, "admin-token");
  const token = randomBytes(16).toString("hex");
  writeFileSync(tokenFile, token, { mode: 0o600 });
  const [door, agentDoor] = [pki.door(), pki.agentDoor()];
  const process = processes.start("proxy-server", [
    ...shipped("proxy-server"),
    `--listen=http-connect+uds:${connectPath},mode=0600`,
    `--listen=http-connect+tcp:127.0.0.1:${doorPort},cert=${door.cert},key=${door.key},ca=${door.ca}`,
    `--listen=grpc+uds:${grpcSocket},mode=0600`,
    `--agent-bind-address=${place.serverHost}`,
    `--agent-port=${agentPort}`,
    `--cluster-cert=${agentDoor.cert}`,
    `--cluster-key=${agentDoor.key}`,
    `--cluster-ca-cert=${agentDoor.ca}`,
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
    doorPort,
    agentPort,
    isReady: () => probe("/readyz"),
    doors: {
      connectUds: connectDoor("HTTP CONNECT on a Unix socket", { transport: "uds", path: connectPath }),
      connectTcp: connectDoor("HTTP CONNECT on TCP with mTLS", {
        transport: "tcp",
        host: "127.0.0.1",
        port: doorPort,
        certs: pki.caller(),
      }),
      grpcUds: grpcDoor("gRPC on a Unix socket", grpcSocket),
    },
  };
}
