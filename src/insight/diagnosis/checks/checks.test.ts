import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type Server } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { FakeNetwork, own } from "../../../cluster/bootstrap/address/testing/fake-host.js";
import { bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import type { KubeEndpoint } from "../../../cluster/kube/endpoint.js";
import { KubeApiError } from "../../../cluster/kube/errors.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { certificatesFor, writePki } from "../../../tunnel/pki/write-pki.js";
import { selection } from "../doctor.js";
import { runChecks } from "../run.js";
import { context, findingsOf, messagesOf } from "../testing/context.js";
import { admin, agent, processInfo } from "../testing/overview.js";
import { cleanedUp } from "./bootstrap-host.js";
import { certificates, serverReachable } from "./certificates.js";
import { apiAccess, permissions } from "./cluster.js";
import { egressAgreement } from "./egress.js";
import { clock, fips, nodeVersion, openFiles, portsFree, socketFile } from "./host.js";
import { addressChoice, overlap, routeToPods } from "./networks.js";
import { running, settings } from "./programs.js";

let scratch: string;
const closing: (() => void)[] = [];
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-doctor-"));
});
afterEach(() => {
  for (const close of closing.splice(0)) close();
  rmSync(scratch, { recursive: true, force: true });
});

describe("checks of the host", () => {
  test.each([
    ["20.18.9", "failed"],
    ["18.20.0", "failed"],
    ["20.19.0", "ok"],
    ["22.1.0", "ok"],
  ])("Node %s is judged %s", async (version, state) => {
    expect(await runChecks([nodeVersion], { nodeVersion: () => version })).toMatchObject([{ state }]);
  });

  test("fips warns in FIPS mode and names the programs to use", async () => {
    const file = "/proc/sys/crypto/fips_enabled";
    expect(await messagesOf(fips, context({}, { files: { [file]: "0\n" } }))).toEqual([
      "ok: this host is not in FIPS mode",
    ]);
    const [finding] = await findingsOf(fips, context({}, { files: { [file]: "1\n" } }));
    expect(finding).toMatchObject({ state: "warning", remedy: expect.stringMatching(/--image-kind payload/) });
    expect(await messagesOf(fips, context())).toEqual([expect.stringMatching(/^skipped/)]);
  });

  test("open-files reads the limit of the running server, else of a program started from here", async () => {
    const limits = (soft: string) =>
      `Limit   Soft Limit\nMax open files            ${soft}                524288               files\n`;
    const of = (soft: string, server?: string[]) =>
      context(
        {},
        { files: { "/proc/self/limits": limits("1024"), "/proc/7/limits": limits(soft) }, ...(server && { server }) },
      );
    expect(await messagesOf(openFiles, of("1", undefined))).toEqual([
      "warning: a program started from here may open only 1024 files, and every tunnel takes one or two",
    ]);
    expect(await messagesOf(openFiles, of("65536", ["proxy-server"]))).toEqual([
      "ok: the running proxy-server (process 7) may open 65536 files",
    ]);
    expect(await messagesOf(openFiles, of("unlimited", ["proxy-server"]))).toEqual([expect.stringMatching(/^ok/)]);
  });
});

describe("the clean-up of an injected bridge", () => {
  const noted = (state: string) =>
    context(
      { role: "bootstrap" },
      {
        files: {
          "/opt/openshift/konnectivity-cleanup.json": JSON.stringify({
            ...{ state, namespace: "openshift-bootstrap-konnectivity", attempts: 31, since: "2026-11-16T00:00:02Z" },
            lastError: "lookup api-int: no such host",
          }),
        },
      },
    );

  test("is reported while it has not succeeded, with the command that does it", async () => {
    expect(await findingsOf(cleanedUp, noted("pending"))).toMatchObject([
      {
        ...{ check: "cleanup-failed", state: "failed" },
        message:
          "the bridge's namespace, DaemonSet and Secret are still in the cluster: the clean-up has not succeeded in 31 attempts since 2026-11-16T00:00:02Z and goes on: lookup api-int: no such host",
        remedy: expect.stringContaining("drawbridge bootstrap teardown --dir INSTALLDIR (or --kubeconfig FILE)"),
        evidence: [expect.stringMatching(/^\/opt\/openshift\/konnectivity-cleanup\.json:1: pending, 31 attempts/)],
      },
    ]);
    expect(await messagesOf(cleanedUp, noted("given-up"))).toEqual([
      expect.stringContaining("failed: the bridge's namespace, DaemonSet and Secret are still in the cluster"),
    ]);
  });

  test("is nothing to report once it succeeded, and where there is none", async () => {
    expect(await messagesOf(cleanedUp, noted("removed"))).toEqual([]);
    expect(await messagesOf(cleanedUp, context({ role: "bootstrap" }))).toEqual([]);
  });

  test("is asked by doctor on a bootstrap host, and leftovers wherever the cluster can be asked", () => {
    const rolesOf = (id: string) => selection.find(([check]) => check.id === id)?.[1];
    expect(rolesOf("cleanup-failed")).toEqual(["bootstrap"]);
    expect(rolesOf("leftovers")).toEqual(["server", "bootstrap", "workstation"]);
  });
});

describe("checks of networks", () => {
  const networks = (machine: string[], pod: string[], service: string[]) =>
    context({ facts: { networks: () => ({ machine, pod, service, from: "flags" }) } });

  test("network-overlap is ok when the networks are apart", async () => {
    expect(await messagesOf(overlap, networks(["10.0.0.0/16"], ["10.128.0.0/14"], ["172.30.0.0/16"]))).toEqual([
      "ok: machine, pod, service networks do not overlap",
    ]);
    expect(await messagesOf(overlap, networks(["10.0.0.0/16"], ["fd01::/48"], ["fd02::/112"]))).toEqual([
      expect.stringMatching(/^ok/),
    ]);
  });

  test.each<[string[], string[], string[], RegExp[]]>([
    [
      ["10.128.64.0/18"],
      ["10.128.0.0/14"],
      ["172.30.0.0/16"],
      [/machine network 10\.128\.64\.0\/18 and the pod network/],
    ],
    [["10.0.0.0/8"], ["10.128.0.0/14"], ["10.96.0.0/12"], [/machine .* pod/, /machine .* service/]],
    [["10.0.0.0/16"], ["fd01::/48"], ["fd01::/112"], [/pod network fd01::\/48 and the service network fd01::\/112/]],
    [["10.0.0.0/16"], ["10.1.0.0/16", "10.1.128.0/17"], [], [/pod network .* and the pod network/]],
  ])("network-overlap fails for %j %j %j", async (machine, pod, service, expected) => {
    const found = await messagesOf(overlap, networks(machine, pod, service));
    expect(found).toEqual(
      expected.map((pattern) => expect.stringMatching(new RegExp(`^failed: the ${pattern.source}`))),
    );
  });

  test("network-overlap is skipped with too few networks and refuses what is no prefix", async () => {
    expect(await messagesOf(overlap, networks(["10.0.0.0/16"], [], []))).toEqual([expect.stringMatching(/^skipped/)]);
    expect(await messagesOf(overlap, networks(["10.0.0.0"], [], []))).toEqual([
      expect.stringMatching(/^failed: the machine network "10\.0\.0\.0" is not a prefix/),
    ]);
  });

  test("route-to-pods warns of a route that makes a bridge superfluous", async () => {
    const given = { podNetwork: ["10.128.0.0/14"] };
    expect(await messagesOf(routeToPods, context(given))).toEqual([
      expect.stringMatching(/^ok: this host has no route of its own/),
    ]);
    const [finding] = await findingsOf(
      routeToPods,
      context(given, { routes: ["10.128.0.0/14 via 10.0.0.9 dev eth0"] }),
    );
    expect(finding).toMatchObject({ state: "warning", evidence: ["10.128.0.0/14 via 10.0.0.9 dev eth0"] });
    expect(finding?.remedy).toMatch(/ip route del 10\.128\.0\.0\/14 via/);
  });

  test("address names the address that agents dial, with all that was considered", async () => {
    expect(await messagesOf(addressChoice, context({ address: "192.168.66.10" }))).toEqual([
      "ok: agents dial 192.168.66.10",
    ]);
    expect(await messagesOf(addressChoice, context({ address: "203.0.113.9" }))).toEqual([
      expect.stringMatching(/^failed: --address is "203\.0\.113\.9": /),
    ]);
    expect(await messagesOf(addressChoice, context({ address: "server.example" }))).toEqual([
      expect.stringMatching(/^skipped: agents dial server\.example, a name/),
    ]);
    const [finding] = await findingsOf(addressChoice, context());
    expect(finding).toMatchObject({ state: "ok", message: "agents dial 192.168.66.10" });
    expect(finding?.evidence[0]).toMatch(/^chosen: 192\.168\.66\.10 is the source address of the IPv4 route/);
    const lost = new FakeNetwork([own("eth0", "192.168.66.10/24")]);
    expect(await messagesOf(addressChoice, context({}, { network: lost }))).toEqual([
      expect.stringMatching(/^failed: This host has no address that agents could dial/),
    ]);
    expect(await messagesOf(addressChoice, context({ env: { DRAWBRIDGE_BOOTSTRAP_NODE_IP: "127.0.0.1" } }))).toEqual([
      expect.stringMatching(/^failed: .*loopback/),
    ]);
  });

  test("address is no concern of a server that is no bridge's", async () => {
    const lost = new FakeNetwork([own("eth0", "192.168.66.10/24")]);
    const isBridge = false;
    expect(await messagesOf(addressChoice, context({ isBridge }, { network: lost, server: ["proxy-server"] }))).toEqual(
      [expect.stringMatching(/^skipped: the server here is no bridge's/)],
    );
    expect(await messagesOf(addressChoice, context({ isBridge }))).toEqual([
      "ok: agents of a bridge made here would dial 192.168.66.10",
    ]);
  });

  test("a bridge's command, directories and sockets are named only where a bridge was made", async () => {
    const remedyOf = async (isBridge: boolean) => (await findingsOf(running, context({ isBridge })))[0]?.remedy;
    expect(await remedyOf(true)).toContain("drawbridge bootstrap up");
    expect(await remedyOf(false)).toMatch(/^Start it the way it was installed: its systemd unit, its static pod /);
    expect(await messagesOf(socketFile, context({ isBridge: false }))).toEqual([]);
    expect(await messagesOf(socketFile, context({ isBridge: false, isSocketGiven: true }))).toHaveLength(1);
  });

  test("address fails when the host's address changed after the certificates were made", async () => {
    const model = bridgeModel({ for: "bare", serverAddresses: ["192.168.66.99"] });
    expect(await messagesOf(addressChoice, context({ model }))).toEqual([
      expect.stringMatching(/^failed: .*made for 192\.168\.66\.99.*now be 192\.168\.66\.10/),
    ]);
  });
});

describe("check ports", () => {
  const by = (port: number, ...words: string[]) => ({ port, owner: { pid: 42, words } });

  test("a port may be free or the server's, but not another process'", async () => {
    const listeners = [by(8091, "/usr/bin/proxy-server", "--mode=grpc"), by(2041, "python3", "-m", "http.server")];
    expect(await messagesOf(portsFree, context({}, { listeners }))).toEqual([
      "ok: TCP 8091 (agents) is the server's (process 42)",
      "failed: TCP 2041 (health) is taken by process 42, which is no proxy-server",
      "ok: TCP 8095 (admin) is free",
    ]);
    const [, taken] = await findingsOf(portsFree, context({}, { listeners }));
    expect(taken).toMatchObject({
      evidence: ["process 42: python3 -m http.server"],
      remedy: expect.stringMatching(/--health-port/),
    });
    expect(await messagesOf(portsFree, context({}, { listeners: [{ port: 8091, owner: undefined }] }))).toContainEqual(
      expect.stringMatching(/may not see/),
    );
  });

  test("of a server that does not run and is no bridge's nobody knows the ports, and only that it is missing is said", async () => {
    const place = { isBridge: false };
    expect(await messagesOf(portsFree, context(place))).toEqual([]);
    expect(await messagesOf(portsFree, context({ ...place, healthPort: 8092 }))).toContain(
      "ok: TCP 8092 (health) is free",
    );
    expect(await messagesOf(running, context(place))).toEqual(["warning: no proxy-server runs in this network"]);
  });
});

describe("check socket", () => {
  const at = (socket: string) => context({ socket });

  test("a socket path of more than 107 bytes fails", async () => {
    expect(await messagesOf(socketFile, at(`/${"x".repeat(107)}`))).toEqual([
      "failed: the socket's path has 108 bytes, and 107 fit",
    ]);
    expect(await messagesOf(socketFile, at(`/nowhere/${"x".repeat(98)}`))).toEqual([expect.stringMatching(/^ok/)]);
  });

  test("a socket or directory that others may use, and a file in its place, fail", async () => {
    const directory = join(scratch, "run");
    mkdirSync(directory);
    chmodSync(directory, 0o755);
    const path = join(directory, "s.sock");
    expect((await messagesOf(socketFile, at(path)))[0]).toMatch(/^failed: everybody may enter/);
    // OpenShift's directory is shared; there only the socket counts.
    expect(await messagesOf(socketFile, context({ socket: path, model: bridgeModel({ for: "openshift" }) }))).toEqual([
      expect.stringMatching(/^ok/),
    ]);
    chmodSync(directory, 0o770);
    writeFileSync(path, "");
    expect(await messagesOf(socketFile, at(path))).toEqual([expect.stringMatching(/^failed: .*is not a socket/)]);
    rmSync(path);
    const server = createServer().listen(path);
    closing.push(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    chmodSync(path, 0o777);
    expect(await messagesOf(socketFile, at(path))).toEqual([
      expect.stringMatching(/^failed: everybody may use the socket/),
    ]);
    chmodSync(path, 0o770);
    expect(await messagesOf(socketFile, at(path))).toEqual([`ok: a process listens on ${path}`]);
  });
});

describe("check certificates", () => {
  test("certificates fail when they are for another address, have ended, or are missing", async () => {
    const pki = join(scratch, "tls");
    await writePki(pki, await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] }));
    const given = { pki, now: () => new Date() };
    expect(await messagesOf(certificates, context({ ...given, address: "192.168.66.10" }))).toEqual([
      expect.stringMatching(/^ok: 3 certificates fit together/),
    ]);
    expect(await messagesOf(certificates, context({ ...given, address: "192.168.66.77" }))).toEqual([
      expect.stringMatching(/^failed: .*server\.crt: agents that dial 192\.168\.66\.77 refuse it/),
    ]);
    const tomorrow = () => new Date(Date.now() + 48 * 3_600_000);
    expect((await messagesOf(certificates, context({ pki, now: tomorrow })))[0]).toMatch(/^failed: .*expired/);
    expect(await messagesOf(certificates, context())).toEqual(["skipped: /nowhere/pki does not exist here"]);
    mkdirSync(join(scratch, "empty"));
    expect(await messagesOf(certificates, context({ pki: join(scratch, "empty") }))).toEqual([
      expect.stringMatching(/^failed: .*holds no certificate/),
    ]);
  });
});

describe("check egress-config", () => {
  function egress(proxyProtocol: string, udsName: string): string {
    const file = join(scratch, "egress.yaml");
    const egressSelections = [{ name: "cluster", connection: { proxyProtocol, transport: { uds: { udsName } } } }];
    writeFileSync(
      file,
      stringify({ apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration", egressSelections }),
    );
    return file;
  }
  const server = ["/usr/bin/proxy-server", "--mode=grpc", "--uds-name=/run/s.sock"];

  test("the egress configuration and the server are compared by protocol and socket", async () => {
    const of = (protocol: string, socket: string) =>
      messagesOf(egressAgreement, context({ egressConfig: egress(protocol, socket) }, { server }));
    expect(await of("GRPC", "/run/s.sock")).toEqual(["ok: kube-apiserver and server agree on protocol and socket"]);
    expect(await of("HTTPConnect", "/run/s.sock")).toEqual([
      "failed: the kube-apiserver speaks HTTPConnect to a server that runs with --mode=grpc",
    ]);
    expect(await of("GRPC", "/run/other.sock")).toEqual([
      "failed: the server listens on /run/s.sock, the kube-apiserver dials /run/other.sock",
    ]);
    expect(await messagesOf(egressAgreement, context({ egressConfig: egress("GRPC", "/run/s.sock") }))).toEqual([
      expect.stringMatching(/^ok: .*no server is here/),
    ]);
  });

  test("an egress configuration that a kube-apiserver refuses fails, a missing one is skipped", async () => {
    expect(await messagesOf(egressAgreement, context({ egressConfig: egress("Direct", "x") }))).toEqual([
      expect.stringMatching(/^failed: .*refused by every kube-apiserver/),
    ]);
    expect(await messagesOf(egressAgreement, context())).toEqual(["skipped: /nowhere/egress.yaml does not exist"]);
  });
});

async function http(status: number, body: string): Promise<number> {
  const server: Server = createHttp((_, response) => response.writeHead(status).end(body));
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

describe("check health", () => {
  const of = (port: number, ...flags: string[]) =>
    context({}, { server: ["proxy-server", `--health-port=${port}`, ...flags] });

  test("health tells a server that is ready, unready, unable to become ready, and not running apart", async () => {
    expect(await messagesOf(running, of(await http(200, "ok")))).toEqual(["ok: the proxy-server is ready"]);
    const alone = await http(500, "no connection to any proxy agent");
    expect(await messagesOf(running, of(alone))).toEqual(["failed: the proxy-server is not ready"]);
    expect(await messagesOf(running, of(alone, "--proxy-strategies=destHost,defaultRoute"))).toEqual([
      expect.stringMatching(/^warning: the proxy-server is not ready: only agents of its first strategy/),
    ]);
    expect(await messagesOf(running, of(alone, "--proxy-strategies=destHost,defaultRoute", "--readiness=any"))).toEqual(
      ["failed: the proxy-server is not ready"],
    );
    const nobody = { ...of(alone, "--proxy-strategies=destHost,defaultRoute"), ...admin({ agents: [] }).facts };
    expect(await messagesOf(running, nobody)).toEqual(["failed: the proxy-server is not ready"]);
    const lacking = "1 agent is connected, but it lacks the identifiers that the strategy destHost looks for";
    const all = await http(500, `${lacking} (--readiness=all)`);
    expect(await messagesOf(running, of(all, "--proxy-strategies=destHost,default", "--readiness=all"))).toEqual([
      expect.stringMatching(/^warning: .* the strategy destHost looks for, and --readiness=all asks for that$/),
    ]);
    expect(await messagesOf(running, of(await http(404, "404 page not found")))).toEqual([
      expect.stringMatching(/^failed: \S+\/readyz is not the health port of the proxy-server/),
    ]);
    expect(await messagesOf(running, context())).toEqual(["warning: no proxy-server runs in this network"]);
    expect(await messagesOf(running, context({ role: "agent" }))).toEqual([
      "warning: no proxy-agent runs in this network",
    ]);
  });

  test("settings says what the running program warns of at its start", async () => {
    const token = join(scratch, "token");
    writeFileSync(token, "");
    const agentFlags = [`--service-account-token-path=${token}`, "--agent-identifiers=ipv4=foo"];
    const found = await findingsOf(settings, context({ role: "agent" }, { agent: ["proxy-agent", ...agentFlags] }));
    expect(found).toMatchObject([
      { state: "warning", code: "DB_TOKEN_FILE", message: expect.stringContaining("is empty") },
      { state: "warning", code: "DB_FLAG_VALUE", message: expect.stringContaining("ipv4=") },
    ]);
    expect(await messagesOf(settings, context({}, { server: ["proxy-server", "--server-count=0"] }))).toEqual([
      expect.stringMatching(/^warning: --server-count is 0/),
    ]);
    expect(await messagesOf(settings, context({}, { server: ["proxy-server"] }))).toEqual([
      "ok: the keys, token files and flags of the proxy-server are in order",
    ]);
    expect(await messagesOf(settings, context())).toEqual([]);
  });

  test("health fails when the program runs but does not answer", async () => {
    const port = await http(200, "ok");
    for (const close of closing.splice(0)) close();
    expect(await messagesOf(running, of(port))).toEqual([
      expect.stringMatching(/^failed: the proxy-server runs but does not answer/),
    ]);
  });
});

test("certificates says nothing of a directory that a running agent does not use", async () => {
  const place = { role: "agent" } as const;
  expect(await messagesOf(certificates, context(place, { agent: ["proxy-agent"] }))).toEqual([]);
  expect(await messagesOf(certificates, context(place))).toEqual([expect.stringMatching(/^skipped: \/nowhere\/pki/)]);
});

describe("check server-reachable", () => {
  async function serve(ip: string, now = new Date()): Promise<{ port: number; ca: string }> {
    const issued = await certificatesFor("bootstrap", { ipAddresses: [ip] }, now);
    const { certificatePem: cert, privateKeyPem: key } = issued.leaves.get("server")!;
    const server = createTls({ cert, key, ALPNProtocols: ["h2"] }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    closing.push(() => server.close());
    return { port: (server.address() as AddressInfo).port, ca: issued.signers.get("ca")!.certificatePem };
  }
  const dialler = (agentPort: number, ca = "", more: object = {}) => {
    const pki = mkdtempSync(join(scratch, "pki-"));
    if (ca !== "") writeFileSync(join(pki, "ca.crt"), ca);
    return context({ role: "agent", address: "127.0.0.1", agentPort, pki, now: () => new Date(), ...more });
  };

  test("server-reachable fails on a certificate for another address or of another authority", async () => {
    const { port, ca } = await serve("127.0.0.1");
    expect(await findingsOf(serverReachable, dialler(port, ca))).toMatchObject([
      {
        message: `agents here reach the server at 127.0.0.1:${port} and can trust it`,
        evidence: [expect.stringContaining("IP Address:127.0.0.1")],
      },
    ]);
    const wrongName = await serve("192.0.2.9");
    const [finding] = await findingsOf(serverReachable, dialler(wrongName.port, wrongName.ca));
    expect(finding).toMatchObject({
      state: "failed",
      code: "DB_TLS_SERVER_NAME",
      message: expect.stringMatching(/^the certificate of the server .* is not for 127\.0\.0\.1, which was dialled/),
    });
    expect(finding?.evidence[0]).toMatch(/IP Address:192\.0\.2\.9/);
    expect(await messagesOf(serverReachable, dialler(port, wrongName.ca))).toEqual([
      expect.stringMatching(/^failed: the certificate of the server .* was not signed by \S+\/ca\.crt /),
    ]);
    // Without an authority to compare with, the rest is judged.
    expect(await messagesOf(serverReachable, dialler(port))).toEqual([
      expect.stringMatching(/^ok: .*; which authorities agents trust is not known here$/),
    ]);
    expect(await messagesOf(serverReachable, dialler(wrongName.port))).toEqual([
      "failed: the server's certificate is not for 127.0.0.1, so agents refuse it",
    ]);
  });

  test("server-reachable fails on a certificate that has ended, or not begun by this clock", async () => {
    const made = async (hours: number) => {
      const { port, ca } = await serve("127.0.0.1", new Date(Date.now() + hours * 3_600_000));
      return await findingsOf(serverReachable, dialler(port, ca));
    };
    expect(await made(-48)).toMatchObject([{ state: "failed", code: "DB_TLS_SERVER_EXPIRED" }]);
    expect(await made(48)).toMatchObject([{ state: "failed", code: "DB_TLS_CLOCK" }]);
  });

  test.each([
    ["a good one", { use: "server" }, [], /^ok: the server takes connections at /],
    ["a good one, and no agent is there", { use: "server" }, undefined, /^skipped: .*; no agent is connected, so /],
    [
      "one for clients",
      { use: "client" },
      [],
      /^failed: .* is not for TLS servers \(serverAuth\), so agents refuse it$/,
    ],
    ["an expired one", { use: "server", now: new Date("2026-01-01") }, [], /^failed: .*own\.crt\) expired /],
  ] as const)(
    "beside a server its certificate's file is judged, and no TLS is begun: %s",
    async (_, made, has, said) => {
      const begun: number[] = [];
      const server = createServer((socket) => socket.on("data", (bytes) => begun.push(bytes.length))).listen(
        0,
        "127.0.0.1",
      );
      await new Promise((resolve) => server.once("listening", resolve));
      closing.push(() => server.close());
      const authority = await createAuthority({ commonName: "ca", ...("now" in made && { now: made.now }) });
      const file = join(scratch, "own.crt");
      writeFileSync(
        file,
        (await issueCertificate(authority, { commonName: "s", ipAddresses: ["127.0.0.1"], ...made })).certificatePem,
      );
      const { port: agentPort } = server.address() as AddressInfo;
      const agents = has === undefined ? [] : [agent];
      const place = { ...admin({ agents: agents as never }), agentPort, now: () => new Date() };
      const given = context(place, { server: ["proxy-server", `--cluster-cert=${file}`] });
      expect((await messagesOf(serverReachable, given))[0]).toMatch(said);
      expect(begun).toEqual([]);
    },
  );

  test("an agent that TLS works for and that has no server is no success; its own reason is given", async () => {
    const unreadyReason = "rpc error: the token is refused";
    const overview = { process: { ...processInfo, role: "agent", unreadyReason }, servers: [] } as const;
    const facts = { agentPorts: () => [{ where: "10.0.0.1:8091" }] };
    const given = admin(overview);
    const alone = context({ role: "agent", ...given, facts: { ...given.facts, ...facts } });
    expect(await messagesOf(serverReachable, alone)).toEqual([
      `failed: TLS with the server at 10.0.0.1:8091 works, but the agent is not connected: ${unreadyReason}`,
    ]);
    const unreadyCauses = [{ code: "DB_TOKEN_FILE" as const, sentence: "/t holds no token", remedy: "Mount one." }];
    const named = admin({ ...overview, process: { ...overview.process, unreadyCauses } });
    const judged = context({ role: "agent", ...named, facts: { ...named.facts, ...facts } });
    expect(await findingsOf(serverReachable, judged)).toMatchObject([
      {
        state: "failed",
        code: "DB_TOKEN_FILE",
        message: expect.stringMatching(/: \/t holds no token$/),
        remedy: "Mount one.",
      },
    ]);
    const health = () => ({ url: "u", answer: { status: 503, body: "[-]server-connected failed: no servers" } });
    expect(await messagesOf(serverReachable, context({ role: "agent", facts: { ...facts, health } }))).toEqual([
      expect.stringMatching(/but the agent is not connected: no servers$/),
    ]);
    const ready = () => ({ url: "u", answer: { status: 200, body: "ok" } });
    expect(await messagesOf(serverReachable, context({ role: "agent", facts: { ...facts, health: ready } }))).toEqual([
      expect.stringMatching(/^ok/),
    ]);
  });

  test("server-reachable tells a closed port, a port without TLS and an unknown address apart", async () => {
    const plain = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .resume()
        .end("SSH-2.0-x\r\n"),
    ).listen(0, "127.0.0.1");
    await new Promise((resolve) => plain.once("listening", resolve));
    const { port } = plain.address() as AddressInfo;
    expect(await messagesOf(serverReachable, dialler(port))).toEqual([
      expect.stringMatching(/^failed: .*does not speak TLS/),
    ]);
    await new Promise((resolve) => plain.close(resolve));
    expect(await messagesOf(serverReachable, dialler(port))).toEqual([
      expect.stringContaining(`failed: cannot connect to 127.0.0.1:${port}: connection refused`),
    ]);
    expect(await messagesOf(serverReachable, context({ role: "agent" }))).toEqual([expect.stringMatching(/^skipped/)]);
  });
});

describe("checks of the cluster", () => {
  function cluster(allowed: (verb: string, resource: string) => boolean, get?: KubeApi["get"]) {
    const api = {
      get: get ?? (async () => ({ gitVersion: "v1.36.0" })),
      create: async (_: string, review: { spec: { resourceAttributes: Record<string, string> } }) => {
        const { verb = "", resource = "" } = review.spec.resourceAttributes;
        return { status: { allowed: allowed(verb, resource) } };
      },
    } as unknown as KubeApi;
    const endpoint = { server: "https://10.0.0.1:6443" } as KubeEndpoint;
    return { facts: { cluster: () => ({ api, server: endpoint.server, endpoint }) } };
  }

  test("kubeconfig fails when the API refuses, or the file cannot be used", async () => {
    expect(await messagesOf(apiAccess, context(cluster(() => true)))).toEqual([
      "ok: the API at https://10.0.0.1:6443 answers (v1.36.0)",
    ]);
    const refusal = new KubeApiError("The Kubernetes API refused GET /version with 401: Unauthorized", { status: 401 });
    const refusing = cluster(
      () => true,
      () => Promise.reject(refusal),
    );
    expect(await messagesOf(apiAccess, context(refusing))).toEqual([
      expect.stringMatching(/^failed: The Kubernetes API refused .*401/),
    ]);
    expect(await messagesOf(apiAccess, context({ kubeconfig: join(scratch, "none") }))).toEqual([
      expect.stringMatching(/^failed: The kubeconfig .*none/),
    ]);
    expect(await messagesOf(apiAccess, context())).toEqual([expect.stringMatching(/^skipped/)]);
  });

  test("permissions names each one that is missing", async () => {
    expect(await messagesOf(permissions, context(cluster(() => true)))).toEqual([
      expect.stringMatching(/^ok: .*drawbridge-bootstrap/),
    ]);
    const [finding] = await findingsOf(
      permissions,
      context(cluster((verb, resource) => verb !== "create" || resource === "namespaces")),
    );
    expect(finding).toMatchObject({
      state: "failed",
      message: "the user may not create secrets -n drawbridge-bootstrap, create daemonsets -n drawbridge-bootstrap",
    });
    expect(finding?.evidence[0]).toBe("kubectl auth can-i create secrets -n drawbridge-bootstrap: no");
  });

  test("clock warns from 10 seconds on, and fails from 5 minutes on", async () => {
    expect(await messagesOf(clock, context())).toEqual([]);
    const there = new Date(Date.UTC(2026, 0, 1));
    const at = async (offMs: number, tookMs = 0) => {
      const here = new Date(there.getTime() + offMs);
      const otherClock = { whose: "the API server's", where: "s", here, there, tookMs };
      return (await runChecks([clock], { otherClock: () => otherClock }))[0];
    };
    expect(await at(9_000)).toMatchObject({ state: "ok" });
    expect(await at(-60_000)).toMatchObject({
      state: "warning",
      message: "this host's clock is 1 min behind the API server's",
    });
    expect(await at(3_600_000)).toMatchObject({
      state: "failed",
      message: "this host's clock is 1 h ahead of the API server's",
    });
    expect(await at(15_000, 8_000)).toMatchObject({ state: "ok" });
  });

  test("clock compares with the process that --admin names, where there is no API server", async () => {
    const here = new Date();
    const there = new Date(here.getTime() + 3_600_000);
    const body = JSON.stringify({ process: { ...processInfo, now: there.getTime() } });
    const server = createHttp((_, response) => response.end(body)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    closing.push(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const named = { admin: url, tokenFile: "/t", now: () => here };
    expect(await messagesOf(clock, context(named, { files: { "/t": "token" } }))).toEqual([
      "failed: this host's clock is 1 h behind that of the server server-1",
    ]);
  });
});
