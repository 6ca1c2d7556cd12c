/** Each question about the host: asked of real sockets, servers and files. */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../../../test/support/processes/ports.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import { commandLine } from "../../../cluster/bootstrap/settings/programs.js";
import { ApiStub } from "../../../cluster/kube/testing/api-stub.js";
import { startTunnelFixture, type TunnelFixture } from "../../../tunnel/client/testing/fixture.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { writePem } from "../../../tunnel/pki/write-pki.js";
import { apiServerFlag, serverProtocol } from "../checks/bridge.js";
import { certificates, serverReachable } from "../checks/certificates.js";
import { egressAgreement } from "../checks/egress.js";
import { socketFile } from "../checks/host.js";
import { running } from "../checks/programs.js";
import { ask, bridgeOf, egressRead } from "../testing/bridge.js";
import type { Bridge } from "./bridge.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-verify-checks-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("health", () => {
  let stub: ApiStub | undefined;
  afterEach(() => stub?.close());
  const answering = async (status: number, differences: Partial<Bridge> = {}) => {
    stub = await ApiStub.start((_, response) => void response.writeHead(status).end("no agents"));
    return ask(running, { health: stub.url, ...differences });
  };

  test("a server that answers 200 is ready", async () => {
    expect(await answering(200)).toMatchObject({ state: "ok" });
  });

  test("a server without agents is not ready, and the firewall is named", async () => {
    const finding = await answering(500);
    expect(finding).toMatchObject({ state: "failed", remedy: expect.stringContaining("8091") });
    expect(finding.evidence[0]).toContain("500 no agents");
  });

  test("a server whose first strategy no agent has cannot become ready, which stops no tunnel", async () => {
    const server = commandLine("/etc/manifest.yaml", ["--proxy-strategies=destHost,defaultRoute"]);
    expect(await answering(500, { server })).toMatchObject({ state: "warning" });
  });

  test("nothing listens on the health port", async () => {
    const finding = await ask(running);
    expect(finding).toMatchObject({ state: "failed", remedy: expect.stringContaining("--health") });
    expect(finding.evidence[0]).toContain("ECONNREFUSED");
  });
});

describe("socket and server-protocol", () => {
  let tunnel: TunnelFixture;
  beforeAll(async () => {
    tunnel = await startTunnelFixture();
  });
  afterAll(() => tunnel.close());
  const at = (uds: string, mode: "grpc" | "http-connect" = "grpc"): Partial<Bridge> => ({ frontend: { mode, uds } });
  const pathOf = (frontend: "grpc-uds" | "connect-uds") => (tunnel.frontends[frontend] as { uds: string }).uds;

  test("are ok for a socket of owner and group in the right protocol, even without an agent", async () => {
    for (const [frontend, mode] of [["grpc-uds", "grpc"] as const, ["connect-uds", "http-connect"] as const]) {
      chmodSync(pathOf(frontend), 0o770);
      expect(await ask(socketFile, at(pathOf(frontend), mode))).toMatchObject({ state: "ok", evidence: ["mode 0770"] });
      expect(await ask(serverProtocol, at(pathOf(frontend), mode))).toMatchObject({ state: "ok" });
    }
  });

  test.each([
    [0o777, "mode 0777", "everybody"],
    [0o600, "mode 0600", "does not own"],
  ])("fail for a socket of mode %o", async (mode, shown, why) => {
    chmodSync(pathOf("grpc-uds"), mode);
    const finding = await ask(socketFile, at(pathOf("grpc-uds")));
    expect(finding).toMatchObject({
      ...{ state: "failed", evidence: [shown], message: expect.stringContaining(why) },
      remedy: expect.stringContaining(`chmod 0770 ${pathOf("grpc-uds")}`),
    });
  });

  test("fail for the other protocol, and --mode is named", async () => {
    for (const [frontend, mode] of [["grpc-uds", "http-connect"] as const, ["connect-uds", "grpc"] as const]) {
      const result = await ask(serverProtocol, at(pathOf(frontend), mode));
      expect(result).toMatchObject({ state: "failed", remedy: expect.stringContaining(`--mode=${mode}`) });
    }
  });

  test("fail for a missing socket, a plain file, and a socket that a killed server left", async () => {
    const [file, dead] = [join(folder, "file"), join(folder, "dead.sock")];
    writeFileSync(file, "");
    // A process that is killed leaves its socket behind.
    const leave = `require("net").createServer().listen(${JSON.stringify(dead)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", leave]);
    chmodSync(dead, 0o770);
    expect(await ask(socketFile, at(join(folder, "none")))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("does not exist"),
      remedy: expect.stringContaining("--uds"),
    });
    expect((await ask(socketFile, at(file))).message).toContain("not a socket");
    expect(await ask(socketFile, at(dead))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("no process listens"),
    });
    expect(await ask(serverProtocol, at(dead))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("accepts no connection"),
    });
  });

  test("skip the socket of a TCP frontend", async () => {
    const differences = { frontend: tunnel.frontends["connect-tcp"] };
    expect((await ask(socketFile, differences)).state).toBe("skipped");
    expect((await ask(serverProtocol, differences)).state).toBe("ok");
  });
});

describe("server-reachable", () => {
  let tunnel: TunnelFixture;
  let port: number;
  let pki: Bridge["pki"];
  beforeAll(async () => {
    tunnel = await startTunnelFixture();
    // This frontend speaks HTTP/2 and shows the same certificate as the agent port.
    ({ port } = tunnel.frontends["grpc-tcp"] as { port: number });
    const directory = join(folder, "fixture-pki");
    mkdirSync(directory);
    copyFileSync(tunnel.files.ca, join(directory, "ca.crt"));
    pki = { directory, given: true };
  });
  afterAll(() => tunnel.close());

  test("is ok for an address of the certificate", async () => {
    const result = await ask(serverReachable, { address: "127.0.0.1", agentPort: port, pki });
    expect(result).toMatchObject({ state: "ok", message: expect.stringContaining("can trust it") });
    expect(result.message).not.toContain("not compared");
  });

  test("names what it could not compare", async () => {
    const { state, message, remedy } = await ask(serverReachable, { agentPort: port });
    expect(state).toBe("skipped");
    expect(message).toContain("takes connections");
    expect(remedy).toContain("--address");
  });

  describe("with certificates of its own", () => {
    const serve = async (names: { ipAddresses: string[] }, life: { validForMs?: number; now?: Date } = {}) => {
      const directory = mkdtempSync(join(folder, "pki-"));
      const authority = await createAuthority({ commonName: "verify", ...life });
      const pair = await issueCertificate(authority, { use: "server", commonName: "s", ...names, ...life });
      await writePem(directory, "ca", { certificatePem: authority.certificatePem });
      const server = createServer({ cert: pair.certificatePem, key: pair.privateKeyPem });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port: agentPort } = server.address() as { port: number };
      return { directory, agentPort, close: () => new Promise((resolve) => server.close(resolve)) };
    };

    test("fails for an address that is not among its names", async () => {
      const { directory, agentPort, close } = await serve({ ipAddresses: ["192.0.2.10"] });
      const bridge = { address: "127.0.0.1", agentPort, pki: { directory, given: true } };
      const result = await ask(serverReachable, bridge);
      expect(result).toMatchObject({ state: "failed", message: expect.stringContaining("not for 127.0.0.1") });
      expect(result.evidence[0]).toContain("192.0.2.10");
      expect(result.code).toBe("DB_TLS_SERVER_NAME");
      await close();
    });

    test("fails for a certificate of another authority", async () => {
      const { agentPort, close } = await serve({ ipAddresses: ["127.0.0.1"] });
      const result = await ask(serverReachable, { address: "127.0.0.1", agentPort, pki });
      expect(result).toMatchObject({ state: "failed", message: expect.stringContaining("was not signed by any of") });
      await close();
    });

    test("fails for an expired certificate", async () => {
      const past = { now: new Date(Date.now() - 7_200_000), validForMs: 3_600_000 };
      const { directory, agentPort, close } = await serve({ ipAddresses: ["127.0.0.1"] }, past);
      const bridge = { address: "127.0.0.1", agentPort, pki: { directory, given: true } };
      expect(await ask(serverReachable, bridge)).toMatchObject({
        state: "failed",
        message: expect.stringContaining(" expired "),
        remedy: expect.stringContaining("pki renew"),
      });
      await close();
    });
  });

  test("fails when nothing listens", async () => {
    const [closed = 0] = await freePorts(1);
    expect(await ask(serverReachable, { agentPort: closed })).toMatchObject({
      state: "failed",
      ...{ code: "DB_CONNECT_REFUSED", message: expect.stringContaining(`:${closed}: connection refused`) },
    });
  });
});

describe("certificates", () => {
  const issue = async (address: string) => {
    const directory = mkdtempSync(join(folder, "set-"));
    const authority = await createAuthority({ commonName: "konnectivity-signer" });
    const server = await issueCertificate(authority, { use: "server", commonName: "s", ipAddresses: [address] });
    await writePem(directory, "ca", { certificatePem: authority.certificatePem });
    await writePem(directory, "server", server);
    return directory;
  };

  test("pass when they fit each other and the address", async () => {
    const directory = await issue("192.0.2.1");
    const result = await ask(certificates, { address: "192.0.2.1", pki: { directory, given: true } });
    expect(result).toMatchObject({ state: "ok", message: expect.stringContaining("fit together") });
  });

  test("fail for another address, with what to do; no key is shown", async () => {
    const directory = await issue("192.0.2.1");
    const result = await ask(certificates, { address: "192.0.2.2", pki: { directory, given: true } });
    expect(result).toMatchObject({ state: "failed", message: expect.stringContaining("192.0.2.2") });
    expect(result.remedy).not.toBe("");
    expect(JSON.stringify(result)).not.toContain("PRIVATE KEY");
  });

  test("are skipped where there are none, and fail where --pki names none", async () => {
    expect(await ask(certificates)).toMatchObject({ state: "skipped" });
    const pki = { directory: join(folder, "none"), given: true };
    expect(await ask(certificates, { pki })).toMatchObject({
      state: "failed",
      remedy: expect.stringContaining("--pki"),
    });
    const empty = mkdtempSync(join(folder, "empty-"));
    expect(await ask(certificates, { pki: { directory: empty, given: true } })).toMatchObject({
      state: "failed",
    });
  });
});

describe("egress-config and api-server-flag", () => {
  const model = bridgeModel({ for: "bare" });
  const socket = model.paths.socket.host;
  const file = model.paths.egressConfig.host;
  const server = (...flags: string[]) => commandLine("/etc/manifest.yaml", flags);
  const api = (running?: string[], manifest?: string[]) => ({
    running: running && commandLine("the running kube-apiserver", running),
    manifest: manifest && commandLine("/m/kube-apiserver.yaml", manifest),
  });
  const configured = `--egress-selector-config-file=${file}`;

  test("are ok when they agree", async () => {
    const egress = egressRead({ uds: socket });
    const flags = server("--mode=grpc", `--uds-name=${socket}`);
    expect((await ask(egressAgreement, { egress, server: flags })).state).toBe("ok");
    expect((await ask(apiServerFlag, { egress, apiServer: api([configured]) })).state).toBe("ok");
    expect((await ask(egressAgreement, { egress })).message).toContain("no server is here to compare it with");
  });

  test("take two names of OpenShift's one socket for the same", async () => {
    const openshift = bridgeModel({ for: "openshift" });
    const { host, apiServer } = openshift.paths.socket;
    const egress = egressRead({ uds: apiServer });
    const differences = { model: openshift, egress, server: server(`--uds-name=${host}`) };
    expect((await ask(egressAgreement, differences)).state).toBe("ok");
  });

  test.each([
    ["protocol", egressRead({ protocol: "HTTPConnect", uds: socket }), "--mode=http-connect"],
    ["socket", egressRead({ uds: "/run/other.sock" }), "--uds-name of the server"],
    ["file, absent", bridgeOf().egress, "--egress-config"],
    ["file, broken", { state: "unusable", path: file, why: "it is no YAML" } as const, "bootstrap render"],
  ])("fail when they disagree about the %s", async (_, egress, remedy) => {
    const result = await ask(egressAgreement, { egress, server: server("--mode=grpc", `--uds-name=${socket}`) });
    expect(result).toMatchObject({ state: "failed", remedy: expect.stringContaining(remedy) });
  });

  test.each([
    ["no flag anywhere", api(["--x"]), "failed", `Add ${configured} to the kube-apiserver's command`],
    ["no flag in the manifest", api(undefined, ["--x"]), "failed", `Add ${configured} to /m/kube-apiserver.yaml`],
    ["not restarted yet", api(["--x"], [configured]), "failed", "Restart the kube-apiserver."],
    ["another file", api([`${configured}.old`]), "failed", `--egress-config=${file}.old`],
    ["cannot be seen", api(), "skipped", configured],
    ["only in the manifest that is all to see", api(undefined, [configured]), "ok", ""],
  ])("%s", async (_, apiServer, state, remedy) => {
    const result = await ask(apiServerFlag, { apiServer, egress: egressRead({ uds: socket }) });
    expect(result).toMatchObject({ state, remedy: expect.stringContaining(remedy) });
  });

  test("expect a file given by --egress-config under its own name", async () => {
    const egress = { ...egressRead({ uds: socket }), path: "/own/egress.yaml" };
    const apiServer = api(["--egress-selector-config-file=/own/egress.yaml"]);
    expect((await ask(apiServerFlag, { apiServer, egress })).state).toBe("ok");
  });
});
