/**
 * All certificates of a hosted control plane are replaced under load: leaves that near their end, then the signers
 * themselves with a time in which old and new are trusted. Servers, agents and a sidecar are never told and never
 * restarted; tunnels that stand stay, new ones are made with the new certificates, nothing is lost. Upstream's agents beside
 * ours read their files once, so they have to be restarted before the former signers go. The tests are one story, in order.
 */
import { cpSync, readFileSync } from "node:fs";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ConnectFrontend } from "../support/callers/connect.js";
import { drainByHand } from "../support/lab/drain.js";
import { equipped } from "../support/lab/equipment.js";
import { connectOverTcp } from "../support/lab/frontends.js";
import { drawbridge, HostedPki } from "../support/lab/hosted-pki.js";
import { get } from "../support/lab/http.js";
import { dialOnce, type Frontend, Load } from "../support/lab/load.js";
import { LongTunnel } from "../support/lab/long-tunnel.js";
import { LabProcess } from "../support/lab/process.js";
import { ProxyAgent } from "../support/lab/proxy-agent.js";
import { ProxyServer } from "../support/lab/proxy-server.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import type { CertFiles } from "../support/processes/certs.js";
import { executable, type Origin } from "../support/processes/executables.js";
import { freePort } from "../support/processes/ports.js";
import { startEcho } from "../support/targets/echo.js";
import type { Target } from "../support/targets/listener.js";

const HOST = "127.0.0.1";
const MINUTE = 60_000;
/** Servers look at their files every five seconds, and have other things to do. */
const TAKEN_UP_WITHIN_MS = 30_000;
const RELOADED = "certificates were replaced on disk and are in use";
const LEAVES = ["server", "cluster", "client", "agent", "control-plane-agent"].map((role) => `konnectivity-${role}`);

const ready = await equipped({ upstream: true });

describe.skipIf(!ready)("certificates that change while everything runs", () => {
  let scope: Scope;
  let pki: HostedPki;
  let servers: ProxyServer[];
  let agents: ProxyAgent[];
  /** Of upstream's, both with the second server: one is restarted in time, the other one is forgotten. */
  let upstream: Record<"restarted" | "forgotten", ProxyAgent>;
  let echo: Target;
  let load: Load;
  let tunnels: LongTunnel[];
  /** What a client had before anything changed. */
  let firstClient: CertFiles;

  const clientFiles = (): CertFiles => ({ ca: pki.serverCa, ...pki.pair("konnectivity-client") });
  const frontendOf = (server: ProxyServer, certs = clientFiles()): ConnectFrontend => ({
    ...{ transport: "tcp", host: HOST, port: server.ports.frontend, certs },
  });
  let sidecarFrontend: Frontend;
  let turn = 0;
  /** Straight to a server, or by way of the sidecar. */
  const anyFrontend = (): Frontend => {
    const server = servers[turn++ % (servers.length + 1)];
    return server === undefined ? sidecarFrontend : frontendOf(server);
  };

  /** Whom a TLS client meets at each port: the serial numbers of the certificates. */
  const shown = async (role: "frontend" | "agents") => {
    const own = role === "frontend" ? clientFiles() : { ca: pki.serverCa, ...pki.pair("konnectivity-agent") };
    return Promise.all(servers.map(({ ports }) => serialAt(ports[role], own)));
  };
  const everyoneShows = async () => {
    const [front, back] = [pki.serial("konnectivity-server"), pki.serial("konnectivity-cluster")];
    await until("every port to show its new certificate", TAKEN_UP_WITHIN_MS, async () => {
      const [callers, others] = [await shown("frontend"), await shown("agents")];
      return [...callers.map((serial) => serial === front), ...others.map((serial) => serial === back)].every(Boolean);
    });
  };
  const reloads = () => servers.map((server) => server.log().split(RELOADED).length - 1);
  /** Both frontends of each server have read their files again since `before`. */
  const bothFrontendsReloaded = (before: readonly number[]) =>
    until("both frontends of each server to take up the bundles", TAKEN_UP_WITHIN_MS, () => {
      return reloads().every((count, index) => count >= before[index]! + 2);
    });
  const moreIsAnswered = async () => {
    const before = [load.answered, ...tunnels.map(({ answered }) => answered)];
    await until("the load and every tunnel to go on", 30_000, () => {
      return [load.answered, ...tunnels.map(({ answered }) => answered)].every(
        (now, index) => now > before[index]! + 10,
      );
    });
  };

  const agentsOf = async (server: ProxyServer): Promise<number> => {
    const [, count] = /grpc_connections\{service_method="Connect"\} (\d+)$/m.exec(await server.metrics()) ?? [];
    return Number(count);
  };

  async function agentOf(origin: Origin, name: string, role: string, serverHost: string): Promise<ProxyAgent> {
    const { cert, key } = pki.pair(role);
    return new ProxyAgent(scope, {
      name,
      executable: executable(origin, "proxy-agent"),
      caFile: pki.serverCa,
      serverHost,
      serverPort: servers[1]!.ports.agents,
      ports: { health: await freePort(), admin: await freePort() },
      flags: [`--agent-cert=${cert}`, `--agent-key=${key}`, "--sync-interval=300ms", "--sync-interval-cap=1s"],
    });
  }

  /** Its tunnels go to the first server as long as that one is there. */
  async function startSidecar(): Promise<Frontend> {
    const [port, health] = [await freePort(), await freePort()];
    const { cert, key } = pki.pair("konnectivity-client");
    const sidecar = LabProcess.start(scope, {
      name: "sidecar",
      command: [
        ...([drawbridge, "sidecar"] as const),
        `--listen=http://${HOST}:${port}`,
        ...servers.map(({ ports }) => `--frontend=http-connect+tcp:${HOST}:${ports.frontend}`),
        `--ca-cert-path=${pki.serverCa}`,
        `--tls-cert-path=${cert}`,
        `--tls-key-path=${key}`,
        `--health-port=${health}`,
      ],
    });
    await sidecar.ready("healthy", 60_000, async () => (await get(`http://${HOST}:${health}/healthz`)).status === 200);
    return { transport: "plain", port };
  }

  beforeAll(async () => {
    scope = new Scope("rotation");
    echo = await startEcho();
    scope.defer(() => echo.close());
    // Made fifty minutes ago for an hour: in the last third of its life.
    pki = await HostedPki.aged(scope, "pki", HOST, 60 * MINUTE, 50 * MINUTE);
    cpSync(pki.dir, scope.file("first"), { recursive: true });
    const first = (name: string) => scope.file(`first/${name}`);
    firstClient = { ca: pki.serverCa, cert: first("konnectivity-client.crt"), key: first("konnectivity-client.key") };
    servers = [];
    for (const name of ["server-1", "server-2"]) {
      servers.push(
        new ProxyServer(scope, {
          name,
          executable: executable("ours", "proxy-server"),
          host: HOST,
          ports: {
            ...{ frontend: await freePort(), agents: await freePort() },
            ...{ health: await freePort(), admin: await freePort() },
          },
          certificates: pki.serverCertificates,
          flags: [`--cluster-ca-cert=${pki.agentsCa}`, "--graceful-shutdown-timeout=5s"],
        }),
      );
    }
    agents = [];
    const hosts = servers.map(({ ports }) => `${HOST}:${ports.agents}`).join(",");
    for (const role of ["konnectivity-agent", "konnectivity-control-plane-agent"]) {
      agents.push(await agentOf("ours", role, role, hosts));
    }
    await Promise.all(servers.map((server) => server.start(connectOverTcp)));
    await Promise.all(agents.map((agent) => agent.start()));
    await until("both agents to be with both servers", 60_000, async () => {
      const texts = await Promise.all(agents.map((agent) => agent.metrics()));
      return texts.every((text) => text.includes("open_server_connections 2"));
    });
    sidecarFrontend = await startSidecar();
    tunnels = await Promise.all(
      [frontendOf(servers[0]!), sidecarFrontend, frontendOf(servers[1]!)].map((frontend, index) =>
        LongTunnel.open(`tunnel-${index}`, frontend, echo.address),
      ),
    );
    // After the tunnels that stay: an agent that carries one cannot be restarted without a loss.
    const theirs = (name: string) => agentOf("theirs", name, "konnectivity-agent", HOST);
    upstream = { restarted: await theirs("upstream-restarted"), forgotten: await theirs("upstream-forgotten") };
    await Promise.all(Object.values(upstream).map((agent) => agent.start()));
    await until("upstream's agents to be there", 60_000, async () => (await agentsOf(servers[1]!)) === 4);
    load = Load.start(anyFrontend, echo.address, 4);
    await moreIsAnswered();
  });
  afterAll(async () => {
    await load?.stop();
    await scope?.close();
  });

  test("leaves near their end are renewed, and TLS clients meet the new ones", async () => {
    const before = LEAVES.map((name) => pki.serial(name));
    expect(await shown("frontend")).toEqual([before[0], before[0]]);
    expect((await pki.renew()).renewed).toEqual(LEAVES);
    expect(LEAVES.map((name) => pki.serial(name)).filter((serial) => before.includes(serial))).toEqual([]);
    await everyoneShows();
    await moreIsAnswered();
    expect((await pki.renew()).renewed).toEqual([]);
  });

  test("new signers are trusted beside the former ones, and nothing else changes yet", async () => {
    const [serials, before] = [LEAVES.map((name) => pki.serial(name)), reloads()];
    const { replaced, former } = await pki.renew("--new-signers");
    expect([replaced.length, former.length]).toEqual([4, 4]);
    await bothFrontendsReloaded(before);
    expect(LEAVES.map((name) => pki.serial(name))).toEqual(serials);
    await moreIsAnswered();
  });

  test("certificates of the new signers come into use, those of the former ones are still good", async () => {
    expect((await pki.renew()).renewed).toEqual(LEAVES);
    await everyoneShows();
    await moreIsAnswered();
    const socket = await dialOnce(frontendOf(servers[0]!, firstClient), echo.address);
    socket.destroy();
  });

  test("an agent of upstream's is restarted under load while both kinds of signers are trusted", async () => {
    const { restarted } = upstream;
    await drainByHand(restarted, [servers[1]!], 30_000);
    await restarted.start();
    await until("it to be back", 60_000, async () => (await agentsOf(servers[1]!)) === 4);
    await moreIsAnswered();
  });

  test("former signers are dropped: what they signed opens nothing any more, not even by resuming a TLS session", async () => {
    const server = servers[0]!;
    const { session } = await askTls(server.ports.frontend, firstClient);
    // No session is resumed, so that every connection is judged by the signers of today.
    expect(await askTls(server.ports.frontend, firstClient, session)).toMatchObject({ resumed: false });
    const before = reloads();
    expect((await pki.renew("--drop-former-signers")).dropped).toHaveLength(4);
    await bothFrontendsReloaded(before);
    await expect(dialOnce(frontendOf(server, firstClient), echo.address)).rejects.toThrow();
    await expect(askTls(server.ports.frontend, firstClient, session)).rejects.toThrow(/its certificate was/);
    await moreIsAnswered();
    // A connection that stands is not asked again, whoever made it.
    expect(await agentsOf(servers[1]!)).toBe(4);
  });

  test("agents meet a server that knows the new signers only: ours, though never restarted, and of upstream's the restarted one", async () => {
    // The one tunnel of this server ends with it; the other server's stays.
    expect(await tunnels.pop()!.close()).toMatchObject({ end: "" });
    await servers[1]!.stop(10_000);
    await servers[1]!.start(connectOverTcp);
    const { restarted, forgotten } = upstream;
    await until("those to be back that can", 60_000, async () => (await agentsOf(servers[1]!)) === 3);
    await until("the forgotten one to have tried", 60_000, () => /x509/.test(forgotten.log()));
    await until("the restarted one to know that it is", 30_000, () => restarted.isReady());
    expect(await forgotten.isReady()).toBe(false);
    await forgotten.start();
    await until("the forgotten one to be let in after its restart", 60_000, async () => {
      return (await agentsOf(servers[1]!)) === 4;
    });
    tunnels.push(await LongTunnel.open("after", frontendOf(servers[1]!), echo.address));
    await moreIsAnswered();
  });

  test("tunnels that were there from the start still are, and no request was lost on the way", async () => {
    const [straight, throughSidecar] = tunnels;
    for (const oldest of [straight!, throughSidecar!]) expect(oldest.answered).toBeGreaterThan(100);
    for (const tunnel of tunnels) expect(await tunnel.close()).toMatchObject({ end: "" });
    const { answered, lost, hung, unserved } = await load.stop();
    expect({ lost, hung, unserved }).toEqual({ lost: [], hung: [], unserved: [] });
    expect(answered).toBeGreaterThan(100);
  });
});

/** A client that checks the server, and what it may keep for the next time. */
function meet(port: number, { ca, cert, key }: CertFiles, session?: Buffer): TLSSocket {
  const files = { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) };
  const alpn = { ALPNProtocols: ["h2", "http/1.1"] };
  return connectTls({ host: HOST, port, ...files, ...alpn, ...(session === undefined ? {} : { session }) });
}

function serialAt(port: number, files: CertFiles): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = meet(port, files);
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
      socket.destroy();
    });
  });
}

/** A session that can be resumed later. Resolves once the server has answered: with TLS 1.3 a refusal comes that late. */
function askTls(
  port: number,
  files: CertFiles,
  remembered?: Buffer,
): Promise<{ session: Buffer | undefined; resumed: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = meet(port, files, remembered);
    let session: Buffer | undefined;
    socket.on("session", (ticket) => {
      session = ticket;
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the server hung up")));
    socket.once("secureConnect", () => socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    socket.once("data", (answer) => {
      if (String(answer).startsWith("HTTP/1.1 403 ")) reject(new Error(String(answer)));
      resolve({ session, resumed: socket.isSessionReused() });
      socket.destroy();
    });
  });
}
