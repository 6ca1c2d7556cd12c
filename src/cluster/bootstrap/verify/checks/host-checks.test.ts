/** Each question about the host: asked of real sockets, servers and files. */
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../../../../test/support/processes/ports.js";
import { startTunnelFixture, type TunnelFixture } from "../../../../tunnel/client/testing/fixture.js";
import { createAuthority, issueCertificate } from "../../../../tunnel/pki/issue.js";
import { writePem } from "../../../../tunnel/pki/write-pem.js";
import { ApiStub } from "../../../kube/testing/api-stub.js";
import { bridgeModel } from "../../model/model.js";
import { commandLine } from "../../settings/command-line.js";
import type { Bridge } from "../bridge.js";
import { ask, askAll, bridgeOf, egressRead } from "../testing/bridge.js";
import { agentPortCheck } from "./agent-port.js";
import { certificateCheck } from "./certificates.js";
import { egressChecks } from "./egress.js";
import { frontDoorChecks } from "./front-door.js";
import { serverChecks } from "./server.js";

const folder = mkdtempSync(join(tmpdir(), "drawbridge-verify-checks-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("server-health and server-ready", () => {
  let stub: ApiStub | undefined;
  afterEach(() => stub?.close());
  const answering = async (codes: Readonly<Record<string, number>>) => {
    stub = await ApiStub.start(({ path }, response) => void response.writeHead(codes[path] ?? 404).end("said so"));
    return askAll(serverChecks(bridgeOf({ health: stub.url })));
  };

  test("pass when both answer 200", async () => {
    const results = await answering({ "/healthz": 200, "/readyz": 200 });
    expect(Object.values(results).map(({ status }) => status)).toEqual(["pass", "pass"]);
  });

  test("a server without agents is up but not ready, and the firewall is named", async () => {
    const results = await answering({ "/healthz": 200, "/readyz": 500 });
    expect(results["server-health"]?.status).toBe("pass");
    expect(results["server-ready"]).toMatchObject({
      status: "fail",
      evidence: expect.stringContaining("500: said so"),
    });
    expect(results["server-ready"]?.remedy).toContain("8091");
  });

  test("another program on the port, and nobody at all", async () => {
    expect((await answering({}))["server-health"]).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("--health"),
    });
    const results = await askAll(serverChecks(bridgeOf()));
    for (const { status, evidence } of Object.values(results)) {
      expect({ status, evidence }).toEqual({ status: "fail", evidence: expect.stringContaining("ECONNREFUSED") });
    }
  });
});

describe("socket and front-door", () => {
  let rig: TunnelFixture;
  beforeAll(async () => {
    rig = await startTunnelFixture();
  });
  afterAll(() => rig.close());
  const at = (uds: string, mode: "grpc" | "http-connect" = "grpc") => bridgeOf({ frontend: { mode, uds } });
  const pathOf = (door: "grpc-uds" | "connect-uds") => (rig.frontends[door] as { uds: string }).uds;

  test("pass: a socket for owner and group that speaks what is asked, even without an agent", async () => {
    for (const [door, mode] of [["grpc-uds", "grpc"] as const, ["connect-uds", "http-connect"] as const]) {
      chmodSync(pathOf(door), 0o770);
      const results = await askAll(frontDoorChecks(at(pathOf(door), mode)));
      expect(results.socket).toMatchObject({ status: "pass", evidence: `${pathOf(door)} is srwxrwx---` });
      expect(results["front-door"]).toMatchObject({ status: "pass" });
    }
  });

  test.each([
    [0o777, "srwxrwxrwx", "every user"],
    [0o600, "srw-------", "not srwxrwx---"],
  ])("mode %o fails", async (mode, shown, why) => {
    chmodSync(pathOf("grpc-uds"), mode);
    const { socket } = await askAll(frontDoorChecks(at(pathOf("grpc-uds"))));
    expect(socket).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining(`chmod 0770 ${pathOf("grpc-uds")}`),
    });
    expect(socket?.evidence).toContain(shown);
    expect(socket?.evidence).toContain(why);
  });

  test("the other protocol fails, both ways, and --mode is named", async () => {
    for (const [door, mode] of [["grpc-uds", "http-connect"] as const, ["connect-uds", "grpc"] as const]) {
      const { "front-door": result } = await askAll(frontDoorChecks(at(pathOf(door), mode)));
      expect(result).toMatchObject({ status: "fail", remedy: expect.stringContaining(`--mode=${mode}`) });
    }
  });

  test("nothing there, a file, and a socket that nobody serves any more", async () => {
    const [file, dead] = [join(folder, "file"), join(folder, "dead.sock")];
    writeFileSync(file, "");
    // A process that is killed leaves its socket behind.
    const leave = `require("net").createServer().listen(${JSON.stringify(dead)}, () => process.kill(process.pid, "SIGKILL"))`;
    spawnSync(process.execPath, ["-e", leave]);
    chmodSync(dead, 0o770);
    expect((await askAll(frontDoorChecks(at(join(folder, "none"))))).socket).toMatchObject({
      status: "fail",
      evidence: expect.stringContaining("does not exist"),
      remedy: expect.stringContaining("--uds"),
    });
    expect((await askAll(frontDoorChecks(at(file)))).socket?.evidence).toContain("not a socket");
    const results = await askAll(frontDoorChecks(at(dead)));
    expect(results.socket?.evidence).toContain("nobody listens");
    expect(results["front-door"]).toMatchObject({ status: "fail", evidence: expect.stringContaining("is closed") });
  });

  test("a TCP door has no socket to look at", async () => {
    const results = await askAll(frontDoorChecks(bridgeOf({ frontend: rig.frontends["connect-tcp"] })));
    expect(results.socket?.status).toBe("skip");
    expect(results["front-door"]?.status).toBe("pass");
  });
});

describe("agent-port", () => {
  let rig: TunnelFixture;
  let port: number;
  let pki: Bridge["pki"];
  beforeAll(async () => {
    rig = await startTunnelFixture();
    // The rig's TCP door shows callers the same certificate that its agent port shows agents.
    ({ port } = rig.frontends["connect-tcp"] as { port: number });
    const directory = join(folder, "rig-pki");
    mkdirSync(directory);
    copyFileSync(rig.files.ca, join(directory, "ca.crt"));
    pki = { directory, given: true };
  });
  afterAll(() => rig.close());

  test("passes for an address of the certificate", async () => {
    const result = await ask(agentPortCheck(bridgeOf({ address: "127.0.0.1", agentPort: port, pki })));
    expect(result).toMatchObject({ status: "pass", evidence: expect.stringContaining("IP Address:127.0.0.1") });
    expect(result.evidence).not.toContain("not checked");
  });

  test("says what it could not compare", async () => {
    const { status, evidence } = await ask(agentPortCheck(bridgeOf({ agentPort: port })));
    expect(status).toBe("pass");
    expect(evidence).toContain("--pki");
    expect(evidence).toContain("--address");
  });

  describe("with certificates of its own", () => {
    const serve = async (names: { ipAddresses: string[] }, life: { validForMs?: number; now?: Date } = {}) => {
      const directory = mkdtempSync(join(folder, "pki-"));
      const authority = await createAuthority({ commonName: "verify", ...life });
      const pair = await issueCertificate(authority, { profile: "server", commonName: "s", ...names, ...life });
      await writePem(directory, "ca", { certificatePem: authority.certificatePem });
      const server = createServer({ cert: pair.certificatePem, key: pair.privateKeyPem });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port: agentPort } = server.address() as { port: number };
      return { directory, agentPort, close: () => new Promise((resolve) => server.close(resolve)) };
    };

    test("the address must be among its names", async () => {
      const { directory, agentPort, close } = await serve({ ipAddresses: ["192.0.2.10"] });
      const bridge = bridgeOf({ address: "127.0.0.1", agentPort, pki: { directory, given: true } });
      const result = await ask(agentPortCheck(bridge));
      expect(result).toMatchObject({ status: "fail", evidence: expect.stringContaining("192.0.2.10") });
      expect(result.remedy).toContain(`--dir ${directory} --ip 127.0.0.1`);
      await close();
    });

    test("another authority's is refused", async () => {
      const { agentPort, close } = await serve({ ipAddresses: ["127.0.0.1"] });
      const result = await ask(agentPortCheck(bridgeOf({ address: "127.0.0.1", agentPort, pki })));
      expect(result).toMatchObject({ status: "fail", evidence: expect.stringContaining("does not vouch") });
      await close();
    });

    test("so is one that has ended", async () => {
      const past = { now: new Date(Date.now() - 7_200_000), validForMs: 3_600_000 };
      const { directory, agentPort, close } = await serve({ ipAddresses: ["127.0.0.1"] }, past);
      const bridge = bridgeOf({ address: "127.0.0.1", agentPort, pki: { directory, given: true } });
      expect(await ask(agentPortCheck(bridge))).toMatchObject({
        status: "fail",
        evidence: expect.stringContaining(" ended "),
        remedy: expect.stringContaining("pki init --replace"),
      });
      await close();
    });
  });

  test("nobody there", async () => {
    const [closed = 0] = await freePorts(1);
    expect(await ask(agentPortCheck(bridgeOf({ agentPort: closed })))).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining(`--agent-port=${closed}`),
    });
  });
});

describe("certificates", () => {
  const issue = async (address: string) => {
    const directory = mkdtempSync(join(folder, "set-"));
    const authority = await createAuthority({ commonName: "konnectivity-signer" });
    const server = await issueCertificate(authority, { profile: "server", commonName: "s", ipAddresses: [address] });
    await writePem(directory, "ca", { certificatePem: authority.certificatePem });
    await writePem(directory, "server", server);
    return directory;
  };

  test("pass when they fit each other and the address", async () => {
    const directory = await issue("192.0.2.1");
    const result = await ask(certificateCheck(bridgeOf({ address: "192.0.2.1", pki: { directory, given: true } })));
    expect(result).toMatchObject({ status: "pass", evidence: expect.stringContaining("for 192.0.2.1") });
  });

  test("fail for another address, with what to do; no key is shown", async () => {
    const directory = await issue("192.0.2.1");
    const result = await ask(certificateCheck(bridgeOf({ address: "192.0.2.2", pki: { directory, given: true } })));
    expect(result).toMatchObject({ status: "fail", evidence: expect.stringContaining("192.0.2.2") });
    expect(result.remedy).not.toBe("");
    expect(JSON.stringify(result)).not.toContain("PRIVATE KEY");
  });

  test("skip where none are, unless somebody said that they are there", async () => {
    expect(await ask(certificateCheck(bridgeOf()))).toMatchObject({ status: "skip" });
    const pki = { directory: join(folder, "none"), given: true };
    expect(await ask(certificateCheck(bridgeOf({ pki })))).toMatchObject({
      status: "fail",
      remedy: expect.stringContaining("--pki"),
    });
    const empty = mkdtempSync(join(folder, "empty-"));
    expect(await ask(certificateCheck(bridgeOf({ pki: { directory: empty, given: true } })))).toMatchObject({
      status: "fail",
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
  const told = `--egress-selector-config-file=${file}`;
  const one = async (id: string, differences: Partial<Bridge>) =>
    (await askAll(egressChecks(bridgeOf(differences))))[id];

  test("agree", async () => {
    const egress = egressRead({ uds: socket });
    const good = await askAll(
      egressChecks(bridgeOf({ egress, server: server("--mode=grpc", `--uds-name=${socket}`), apiServer: api([told]) })),
    );
    expect(good["egress-config"]?.status).toBe("pass");
    expect(good["api-server-flag"]?.status).toBe("pass");
    expect((await one("egress-config", { egress }))?.evidence).toContain("front-door");
  });

  test("two names of OpenShift's one socket are the same", async () => {
    const openshift = bridgeModel({ for: "openshift" });
    const { host, apiServer } = openshift.paths.socket;
    const egress = egressRead({ uds: apiServer });
    const differences = { model: openshift, egress, server: server(`--uds-name=${host}`) };
    expect((await one("egress-config", differences))?.status).toBe("pass");
  });

  test.each([
    ["protocol", egressRead({ protocol: "HTTPConnect", uds: socket }), "--mode=http-connect"],
    ["socket", egressRead({ uds: "/run/other.sock" }), "--uds-name=/run/other.sock"],
    ["file, absent", bridgeOf().egress, "--egress-config"],
    ["file, broken", { state: "unusable", path: file, why: "it is no YAML" } as const, "bootstrap render"],
  ])("disagree about the %s", async (_, egress, remedy) => {
    const result = await one("egress-config", { egress, server: server("--mode=grpc", `--uds-name=${socket}`) });
    expect(result).toMatchObject({ status: "fail", remedy: expect.stringContaining(remedy) });
  });

  test.each([
    ["no flag anywhere", api(["--x"]), "fail", `Add ${told} to the kube-apiserver's command`],
    ["no flag in the manifest", api(undefined, ["--x"]), "fail", `Add ${told} to /m/kube-apiserver.yaml`],
    ["not restarted yet", api(["--x"], [told]), "fail", "Restart the kube-apiserver."],
    ["another file", api([`${told}.old`]), "fail", `--egress-config=${file}.old`],
    ["cannot be seen", api(), "skip", told],
    ["only in the manifest that is all to see", api(undefined, [told]), "pass", ""],
  ])("%s", async (_, apiServer, status, remedy) => {
    const result = await one("api-server-flag", { apiServer, egress: egressRead({ uds: socket }) });
    expect(result).toMatchObject({ status, remedy: expect.stringContaining(remedy) });
  });

  test("a file of one's own is expected under its own name", async () => {
    const egress = { ...egressRead({ uds: socket }), path: "/own/egress.yaml" };
    const apiServer = api(["--egress-selector-config-file=/own/egress.yaml"]);
    expect((await one("api-server-flag", { apiServer, egress }))?.status).toBe("pass");
  });
});
