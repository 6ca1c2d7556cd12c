/** Every rule, with bundles made for it; the texts are those that Go, Node, kubelet and systemd really print. */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { serviceRun } from "../../../cluster/bootstrap/gather/testing/service-run.js";
import { certificatesFor, type IssuedPki } from "../../../tunnel/pki/write-pki.js";
import { TestBundle } from "../testing/bundle.js";

const hour = 3_600_000;
const fileOf = (evidence: string): string => /^[^:]+/.exec(evidence)![0];
let bundle: TestBundle;
let pki: IssuedPki;
let another: IssuedPki;

beforeAll(async () => {
  pki = await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] });
  another = await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] });
});
beforeEach(() => {
  bundle = new TestBundle().bootkube({ "konnectivity-certs": "success", "cb-bootstrap": "open" });
});
afterEach(() => bundle.remove());

const go = (reason: string) =>
  `E1116 00:17:49.031487   1 clientset.go:238] "cannot connect once" err="rpc error: code = Unavailable desc = connection error: desc = \\"transport: ${reason}\\""`;
const node = (reason: string) =>
  `W1116 00:17:10.316000       1] cannot connect to server; trying again address="192.168.66.10:8091" error="cannot connect to 192.168.66.10:8091: ${reason}"`;
const ours = (code: string) => `${node("it was refused")} code="${code}"`;
const goConnected = `I1116 00:18:22.231370   1 clientset.go:286] "successfully connected to new proxy server" serverID="x" newServerCount=1`;
const nodeConnected = `I1116 00:17:43.682000   1] connected to server serverId="x" address="192.168.66.10:8091" serverCount=1`;

function certificateFiles(from: IssuedPki, ca = from): void {
  const folder = "rendered-assets/openshift/tls/konnectivity";
  bundle.put(`${folder}/ca.crt`, ca.signers.get("ca")!.certificatePem);
  for (const name of ["server", "agent"]) bundle.put(`${folder}/${name}.crt`, from.leaves.get(name)!.certificatePem);
}

const container = (name: string, program: string, ...args: string[]) => ({
  name,
  image: "i",
  command: [program],
  args,
});
const agent = (...args: string[]) => container("konnectivity-agent", "/usr/bin/proxy-agent", ...args);
const server = (...args: string[]) => container("konnectivity-server", "/usr/bin/proxy-server", ...args);

function daemonSet(host: string): void {
  const spec = { template: { spec: { containers: [agent(`--proxy-server-host=${host}`)] } } };
  const text = stringify({ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "konnectivity-agent" }, spec });
  bundle.put("rendered-assets/openshift/manifests/konnectivity-agent-daemonset.yaml", text);
}

function serverPod(...args: string[]): void {
  const pod = { apiVersion: "v1", kind: "Pod", spec: { containers: [server(...args)] } };
  bundle.put("rendered-assets/openshift/konnectivity-server-pod.yaml", stringify(pod));
}

describe("nothing is found", () => {
  test("in a bundle of a bootstrap that works", async () => {
    certificateFiles(pki);
    daemonSet("192.168.66.10");
    serverPod("--mode=grpc", "--proxy-strategies=destHost,defaultRoute");
    bundle
      .put(
        "bootstrap/network/ip-addr.txt",
        "2: eth0:\n    inet 192.168.66.10/24 brd 192.168.66.255 scope global eth0\n",
      )
      .put("bootstrap/network/netstat.txt", "tcp6  0  0 :::8091  :::*  LISTEN  812/proxy-server\n")
      .agentLog(
        "n1",
        go("authentication handshake failed: EOF"),
        node("connect ECONNREFUSED 192.168.66.10:8091"),
        goConnected,
      )
      .agentLog("n2", node("no answer in time"), nodeConnected)
      .serverLog(`I1116 00:18:22.230682   1 server.go:897] "Agent connected" agentID="a1"`)
      .put(
        "bootstrap/containers/kube-apiserver-9a.log",
        `W1116 00:10:00.000000   1 dispatcher.go:217] failed calling webhook "x": No agent available\n`,
      );
    expect(await bundle.found()).toEqual([]);
    const { observations } = await bundle.analyze();
    expect(observations).toContain("2 of 2 agents were connected at the end of their logs.");
    expect(observations.join(" ")).toMatch(
      /bootkube was in stage cb-bootstrap since 2026-11-16T00:00:03Z.*\/readyz answers 500/,
    );
  });
});

describe("service records", () => {
  test.each<[string, string, RegExp, RegExp]>([
    ["konnectivity-certs", "certain", /certificates of the bridge could not be made/, /--bootstrap-ip/],
    ["konnectivity-server-bootstrap", "certain", /server of the bridge could not be set up/, /--image/],
    ["konnectivity-agent-manifest", "certain", /manifests of the agents/, /konnectivity-\*\.yaml/],
    ["mco-bootstrap", "likely", /bootkube failed at stage mco-bootstrap/, /bootkube\.log/],
    ["cb-bootstrap", "possible", /bootkube failed at stage cb-bootstrap/, /bootkube\.log/],
  ])("%s failed: %s", async (stage, likelihood, message, remedy) => {
    bundle.bootkube({ "etcd-bootstrap": "success", [stage]: "failure" }, "line one\nno such component");
    const finding = await bundle.finding("stage-failed");
    expect(finding).toMatchObject({ likelihood });
    expect(finding.message).toMatch(message);
    expect(finding.message).toMatch(/its last error was: no such component$/);
    expect(finding.remedy).toMatch(remedy);
    const [seen] = finding.evidence;
    // Not that of the service's end, which only follows.
    expect(seen).toMatch(
      new RegExp(`^bootstrap/services/bootkube\\.json:[2-9]\\d: ${stage} \\(stage end\\): failure at 42 main`),
    );
  });

  test("a stage that failed and succeeded in the next run is no failure", async () => {
    const runs = [
      ...serviceRun({ "konnectivity-certs": "failure" }, "x"),
      ...serviceRun({ "konnectivity-certs": "success", "cb-bootstrap": "open" }),
    ];
    bundle.put("bootstrap/services/bootkube.json", runs);
    expect(await bundle.found()).toEqual([]);
    expect((await bundle.analyze()).observations.join()).toMatch(/started 2 times/);
  });

  test("a clean-up that failed is found although bootkube succeeded", async () => {
    const run = serviceRun({ "cb-bootstrap": "success", "konnectivity-cleanup": "failure" }, "Unable to connect");
    const ended = run.map((entry) => (entry.phase === "service end" ? { ...entry, result: "success" } : entry));
    bundle
      .put("bootstrap/services/bootkube.json", ended)
      .agentLog("n1", node("connect ECONNREFUSED 192.168.66.10:8091"));
    expect(await bundle.found()).toEqual(["certain cleanup-failed"]);
    const { message, remedy, evidence } = await bundle.finding("cleanup-failed");
    expect(message).toMatch(/namespace, DaemonSet and Secret are still in the cluster.*: Unable to connect$/);
    expect(remedy).toMatch(/teardown --dir INSTALLDIR/);
    expect(evidence[0]).toMatch(/bootkube\.json:\d+: konnectivity-cleanup \(stage end\): failure/);
    const state = (state: string) =>
      bundle.put("rendered-assets/openshift/konnectivity-cleanup.json", {
        ...{ version: 1, state, namespace: "openshift-bootstrap-konnectivity", since: "2026-11-16T00:00:00Z" },
        ...{ until: "", attempts: 12, lastAttemptAt: "2026-11-16T01:00:00Z", lastError: "connection refused" },
      });
    state("pending");
    expect((await bundle.finding("cleanup-failed")).message).toMatch(
      /in 12 attempts since .* and goes on: connection refused/,
    );
    state("given-up");
    expect((await bundle.finding("cleanup-failed")).message).toMatch(/the clean-up failed: connection refused$/);
    state("removed");
    expect(await bundle.found()).toEqual([]);
  });

  test("a clean-up that the unit finished later, by its own record, is no finding", async () => {
    const run = serviceRun({ "konnectivity-cleanup": "failure" }, "x");
    const ended = run.map((entry) => (entry.phase === "service end" ? { ...entry, result: "success" } : entry));
    bundle
      .put("bootstrap/services/bootkube.json", ended)
      .put("bootstrap/services/konnectivity-cleanup.json", serviceRun({ "konnectivity-cleanup": "success" }));
    expect(await bundle.found()).toEqual([]);
  });

  test.each<[string, number[], number]>([
    ["whose script begins the record twice, once", [0, 1], 1],
    ["twice, with two records each", [0, 1, -1, 100, 101], 2],
    ["twice, killed before its first stage", [0, 300], 2],
  ])("a service is counted by its runs: started %s", async (_, starts, expected) => {
    const at = (second: number) => new Date(Date.UTC(2026, 10, 16, 0, 0, second)).toISOString();
    const entries = starts.map((second) =>
      second < 0
        ? { phase: "service end", result: "failure", timestamp: at(50) }
        : { phase: "service start", timestamp: at(second) },
    );
    bundle.put("bootstrap/services/bootkube.json", [
      ...entries,
      { phase: "stage start", stage: "cb-bootstrap", timestamp: at(999) },
    ]);
    const observed = (await bundle.analyze()).observations.join(" ");
    expect(/started (\d+) times/.exec(observed)?.[1] ?? "1").toBe(String(expected));
  });

  test("the key that installers up to 4.22 looked for is read too", async () => {
    const run = serviceRun({ "konnectivity-certs": "failure" }, "x").map(({ stage, ...entry }) =>
      stage === undefined ? entry : { ...entry, string: stage },
    );
    bundle.put("bootstrap/services/bootkube.json", run);
    expect((await bundle.finding("stage-failed")).message).toMatch(/at stage konnectivity-certs/);
  });

  test("a failing release image is the only finding", async () => {
    bundle
      .put("bootstrap/services/release-image.json", serviceRun({ pull: "failure" }, "unauthorized"))
      .bootkube({ "konnectivity-certs": "failure" });
    const { findings } = await bundle.analyze();
    expect(findings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^release-image failed at stage pull/),
    ]);
  });

  test("a service that never started, an unreadable record and missing records are found", async () => {
    bundle.put("bootstrap/services/bootkube.json", []);
    expect(await bundle.found()).toEqual(["certain service-not-started"]);
    bundle.put("bootstrap/services/bootkube.json", "not json");
    expect((await bundle.analyze()).observations.join()).toMatch(/bootkube\.json is not a service record/);
    const unreached = new TestBundle().put("gather.log", "ssh: connect to host: timed out\n");
    expect(await unreached.found()).toEqual(["certain no-service-records"]);
    unreached.remove();
  });
});

describe("the server", () => {
  const inspect = (attempt: number, state: string, exitCode: number, reason = "Error") => ({
    status: { metadata: { name: "konnectivity-server", attempt }, state, exitCode, reason },
    info: { runtimeSpec: { process: { args: ["/usr/bin/proxy-server", "--mode=grpc"] } } },
  });

  test("that ends again and again is found, with exit code, restarts and its error", async () => {
    bundle
      .put("bootstrap/containers/konnectivity-server-3d.inspect", inspect(6, "CONTAINER_EXITED", 1))
      .serverLog(
        "Error: failed to validate server options with server port should be set to 0 not 8090 for UDS",
        "Usage:",
        "  proxy [flags]",
      );
    const finding = await bundle.finding("server-crash-loop");
    expect(finding.likelihood).toBe("certain");
    expect(finding.message).toBe(
      "the server ends again and again (exit code 1, Error, 6 restarts): server port should be set to 0 not 8090 for UDS",
    );
    expect(finding.remedy).toMatch(/--server-port=0/);
    expect(finding.evidence.map(fileOf)).toEqual([
      "bootstrap/containers/konnectivity-server-3d.inspect",
      "bootstrap/containers/konnectivity-server-3d4e5f.log",
    ]);
  });

  test.each<[string, RegExp]>([
    ["Error: unknown flag: --no-such-flag (DB_FLAG_UNKNOWN: Run the command with --help.)", /Take the flag out/],
    [
      "Error: failed to validate server options with error checking cluster key /etc/konnectivity/server.key, got stat: no such file",
      /mounted/,
    ],
    ["E1116 00:18:42.335029 1 main.go:48] error: listen tcp :8091: bind: address already in use", /ss -ltnp/],
    ["Error: listen EACCES: permission denied /etc/kubernetes/bootstrap-configs/konnectivity-server.socket", /spc_t/],
    ["Error: something new", /Read the last lines/],
  ])("that ends again and again gets a remedy by its error: %s", async (line, remedy) => {
    bundle.serverLog(line, line, line);
    expect((await bundle.finding("server-crash-loop")).remedy).toMatch(remedy);
  });

  test("that restarts as a systemd unit is found in the journal", async () => {
    bundle.put(
      "bootstrap/journals/drawbridge-bootstrap-server.service.log",
      [
        "Nov 16 00:00:01 bs proxy-server[812]: Error: unknown flag: --x",
        "Nov 16 00:00:01 bs systemd[1]: drawbridge-bootstrap-server.service: Main process exited, code=exited, status=1/FAILURE",
        "Nov 16 00:00:03 bs systemd[1]: drawbridge-bootstrap-server.service: Scheduled restart job, restart counter is at 7.",
      ].join("\n"),
    );
    const { message, evidence } = await bundle.finding("server-crash-loop");
    expect(message).toMatch(/unknown flag: --x/);
    expect(evidence.at(-1)).toMatch(/\.log:3: /);
  });

  test("that is killed because memory ran out is found, also when it runs again", async () => {
    bundle
      .put("bootstrap/containers/konnectivity-server-3d.inspect", inspect(3, "CONTAINER_RUNNING", 0, ""))
      .put("bootstrap/containers/konnectivity-server-2c.inspect", inspect(2, "CONTAINER_EXITED", 137, "OOMKilled"))
      .serverLog(`I1116 00:17:43.680000 1] agent connected agentId="a1"`);
    expect((await bundle.finding("server-crash-loop")).remedy).toMatch(/limits\.memory/);
  });

  test("that overcame its first failures is not reported", async () => {
    bundle
      .put("bootstrap/containers/konnectivity-server-3d.inspect", inspect(3, "CONTAINER_RUNNING", 0, ""))
      .put("bootstrap/containers/konnectivity-server-2c.inspect", inspect(2, "CONTAINER_EXITED", 1))
      .serverLog("Error: x", "Error: x", `I1116 00:17:43.680000 1] agent connected agentId="a1"`);
    expect(await bundle.found()).toEqual([]);
  });

  test("that the kubelet cannot start, or restarts with pauses, is found", async () => {
    const line = (text: string) =>
      `Nov 16 00:00:01 bs kubelet[9]: E1116 pod_workers.go] "Error syncing pod" err="${text}" pod="kube-system/konnectivity-server-bs"`;
    bundle.put("bootstrap/journals/kubelet.log", line("failed to StartContainer with ImagePullBackOff"));
    expect(await bundle.found()).toEqual(["certain server-not-started"]);
    bundle.put(
      "bootstrap/journals/kubelet.log",
      line("with CrashLoopBackOff: back-off 5m0s restarting failed container"),
    );
    expect(await bundle.found()).toEqual(["certain server-crash-loop"]);
  });

  test("that could be started after all is not reported", async () => {
    const line = `Nov 16 00:00:01 bs kubelet[9]: E1116 00:00:01.000000 9 pod_workers.go] "Error syncing pod" err="ImagePullBackOff" pod="kube-system/konnectivity-server-bs"`;
    bundle.put("bootstrap/journals/kubelet.log", line);
    expect(await bundle.found()).toEqual(["certain server-not-started"]);
    bundle.serverLog("I1116 00:00:09.745697    8870 server.go:105] Starting frontend server for client connections.");
    expect(await bundle.found()).toEqual([]);
  });

  test("on a host without room on its disk", async () => {
    bundle.put(
      "bootstrap/journals/bootkube.log",
      "Nov 16 00:00:01 bs bootkube.sh[9]: cp: error writing: no space left on device\n",
    );
    expect(await bundle.found()).toEqual(["likely disk-full"]);
  });

  test("that should listen and does not is found", async () => {
    serverPod("--agent-port=8091");
    bundle.put("bootstrap/network/netstat.txt", "LISTEN 0 4096 0.0.0.0:22 0.0.0.0:*\nLISTEN 0 4096 *:6443 *:*\n");
    const { evidence, message } = await bundle.finding("server-not-started");
    expect(message).toMatch(/nothing listens on TCP 8091/);
    expect(evidence[0]).toBe("bootstrap/network/netstat.txt: listening TCP ports: 22, 6443");
    bundle.bootkube({ "konnectivity-certs": "success", "konnectivity-cleanup": "success" });
    expect(await bundle.found()).toEqual([]);
  });
});

describe("agents that cannot connect", () => {
  test.each<[string, string, string]>([
    ["certain certificate-san", go("x509: certificate is valid for 192.0.2.9, not 192.168.66.10"), "Go"],
    [
      "certain certificate-san",
      go("x509: cannot validate certificate for 192.168.66.10 because it doesn't contain any IP SANs"),
      "Go",
    ],
    [
      "certain certificate-san",
      node("Hostname/IP does not match certificate's altnames: IP: 192.168.66.10 is not in the cert's list: 192.0.2.9"),
      "Node",
    ],
    [
      "certain certificate-expired",
      go(
        "x509: certificate has expired or is not yet valid: current time 2026-11-16T00:17:54Z is after 2026-11-14T00:14:09Z",
      ),
      "Go",
    ],
    ["certain certificate-expired", node("certificate has expired"), "Node"],
    ["certain certificate-san", ours("DB_TLS_SERVER_NAME"), "our code"],
    ["certain certificate-expired", ours("DB_TLS_OWN_EXPIRED"), "our code"],
    ["certain certificate-not-yet-valid", ours("DB_TLS_CLOCK"), "our code"],
    ["certain certificate-authority", ours("DB_TLS_UNKNOWN_CA"), "our code"],
    ["likely agent-refused", ours("DB_TLS_OWN_REFUSED"), "our code"],
    [
      "certain certificate-not-yet-valid",
      go(
        "x509: certificate has expired or is not yet valid: current time 2026-11-16T00:18:00Z is before 2026-11-18T22:14:09Z",
      ),
      "Go",
    ],
    ["certain certificate-not-yet-valid", node("certificate is not yet valid"), "Node"],
    ["certain certificate-authority", go("x509: certificate signed by unknown authority"), "Go"],
    ["certain certificate-authority", node("self-signed certificate in certificate chain"), "Node"],
    ["certain certificate-authority", node("unable to verify the first certificate"), "Node"],
    [
      "likely agent-refused",
      go("error reading server preface: remote error: tls: unknown certificate authority"),
      "Go",
    ],
    ["likely agent-refused", node("the stream ended before its headers came"), "Node"],
    ["likely port-blocked", go("Error while dialing: dial tcp 192.168.66.10:8091: i/o timeout"), "Go"],
    ["likely port-blocked", node("no answer in time"), "Node"],
    ["likely port-closed", go("Error while dialing: dial tcp 192.168.66.10:8091: connect: connection refused"), "Go"],
    ["likely port-closed", node("connect ECONNREFUSED 192.168.66.10:8091"), "Node"],
    ["likely no-route", go("Error while dialing: dial tcp 192.168.66.10:8091: connect: no route to host"), "Go"],
    ["likely no-route", node("connect EHOSTUNREACH 192.168.66.10:8091"), "Node"],
    ["certain name-unresolved", go("dial tcp: lookup api-int.example.com: no such host"), "Go"],
    ["certain name-unresolved", go("dial tcp: lookup b.example.com: i/o timeout"), "Go"],
    [
      "certain name-unresolved",
      go("dial tcp: lookup b.example.com on 10.0.0.2:53: read udp 10.0.0.9:40->10.0.0.2:53: read: connection refused"),
      "Go",
    ],
    [
      "certain name-unresolved",
      go("dial tcp: lookup b on 10.0.0.2:53: dial udp: connect: network is unreachable"),
      "Go",
    ],
    ["certain name-unresolved", go("dial tcp: lookup b.example.com on 10.0.0.2:53: server misbehaving"), "Go"],
    ["certain name-unresolved", node("getaddrinfo EAI_AGAIN b.example.com"), "Node"],
    ["certain proxied", go(`Error while dialing: failed to do connect handshake, response: "HTTP/1.1 403`), "Go"],
    ["likely no-handshake", go("authentication handshake failed: context deadline exceeded"), "Go"],
  ])("%s: %s", async (expected, line) => {
    bundle.agentLog("n1", "starting", line, line).agentLog("n2", line);
    expect(await bundle.found()).toEqual([expected]);
    const [finding] = (await bundle.analyze()).findings;
    // The newest line, by file and number.
    expect(finding?.evidence[0]).toContain("control-plane/n1/containers/konnectivity-agent-0a1b2c.log:3: ");
    expect(finding?.evidence[1]).toContain("control-plane/n2/containers/konnectivity-agent-0a1b2c.log:1: ");
  });

  test("a blocked port with a listening server leads to the firewall", async () => {
    bundle
      .put("bootstrap/network/netstat.txt", "LISTEN 0 4096 *:8091 *:*\n")
      .agentLog("n1", node("no answer in time"))
      .agentLog("n2", nodeConnected);
    const finding = await bundle.finding("port-blocked");
    expect(finding.message).toMatch(/^1 of 2 agents dial TCP 8091 .*although the server listens there/);
    expect(finding.remedy).toMatch(/drawbridge firewall plan --platform/);
    expect(finding.evidence.at(-1)).toContain("bootstrap/network/netstat.txt: ");
  });

  test("a name that does not resolve leads to DNS, with name and resolver, and to no firewall", async () => {
    bundle.agentLog("n1", go("dial tcp: lookup b.example.com on 10.0.0.2:53: read udp 1->2: i/o timeout"));
    const { message, remedy } = await bundle.finding("name-unresolved");
    expect(message).toMatch(
      /^1 of 1 agents .* DNS, b\.example\.com, at the resolver 10\.0\.0\.2:53 \(read udp .*i\/o timeout/,
    );
    expect(remedy).toMatch(/resolv\.conf.*dig/);
    expect(`${message} ${remedy}`).not.toMatch(/firewall|8091/);
  });

  test("another port than the server's leads to the flag and to proxy variables, not to the server", async () => {
    serverPod("--agent-port=8091");
    bundle.agentLog("n1", go("Error while dialing: dial tcp 10.0.0.7:3128: connect: connection refused"));
    const { message, remedy } = await bundle.finding("port-closed");
    expect(message).toMatch(/dial 10\.0\.0\.7:3128, where no server of the bridge is: .* on TCP 8091/);
    expect(remedy).toMatch(/--proxy-server-port=8091.*HTTPS_PROXY/);
  });

  test("agents of 4.11 that found a late server are connected", async () => {
    bundle
      .agentLog(
        "n1",
        go("Error while dialing dial tcp 192.168.66.10:8091: connect: connection refused"),
        `I1117 05:34:14.689454    8846 client.go:254] "Connect to" server="cbd3008a-3181-4d1d-b9f8-af6fbf16f848"`,
      )
      .serverLog(`I1117 05:34:14.689112    8870 server.go:640] "Connect request from agent" agentID="7a763b0a"`)
      .put("bootstrap/containers/kube-apiserver-9a.log", "W1117 05:34:10.000000 1 x] No agent available\n");
    expect(await bundle.found()).toEqual([]);
  });

  describe("agents that do not log that they connected", () => {
    const pods = (...nodes: string[]) => bundle.resources("pods", ...nodes.map((name) => agentPod(name)));
    const agentPod = (nodeName: string) => ({
      metadata: { name: `konnectivity-agent-${nodeName}`, namespace: "kube-system" },
      spec: { nodeName, containers: [agent()] },
      status: { phase: "Running" },
    });
    const counted = (agents: number, strategy = "defaultRoute") =>
      bundle.put(
        "bootstrap/metrics/server.txt",
        `konnectivity_network_proxy_server_ready_backends{proxy_strategy="${strategy}"} ${agents}\n`,
      );
    beforeEach(() => {
      for (const name of ["n1", "n2"]) bundle.agentLog(name, node("connect ECONNREFUSED 192.168.66.10:8091"));
    });

    test("are connected when the server counts as many as there are", async () => {
      expect(await bundle.found()).toEqual(["likely port-closed"]);
      pods("n1", "n2");
      counted(2);
      expect(await bundle.found()).toEqual([]);
    });

    test("are not when as many workers may be those that are counted, whose logs no bundle of the installer has", async () => {
      pods("n1", "n2", "worker-1", "worker-2");
      counted(2);
      expect(await bundle.found()).toEqual(["likely port-closed"]);
      counted(4);
      expect(await bundle.found()).toEqual([]);
    });

    test("may be connected where nobody knows how many agents there are", async () => {
      counted(2);
      const { likelihood, evidence } = await bundle.finding("port-closed");
      expect(likelihood).toBe("possible");
      expect(evidence).toContainEqual(expect.stringMatching(/server\.txt:1: agents by strategy: defaultRoute 2$/));
    });

    test("are not shown to be connected by hosts, of which an agent may claim several", async () => {
      pods("n1", "n2");
      counted(2, "destHost");
      expect(await bundle.found()).toEqual(["likely port-closed"]);
    });
  });

  test("only the last reason counts, and none after the bridge was taken down", async () => {
    bundle.agentLog("n1", node("certificate is not yet valid"), node("no answer in time"));
    expect(await bundle.found()).toEqual(["likely port-blocked"]);
    bundle.bootkube({ "konnectivity-cleanup": "success" });
    expect(await bundle.found()).toEqual([]);
  });

  test("endpoints that refuse an agent are not taken for the server", async () => {
    bundle.agentLog(
      "n1",
      nodeConnected,
      `W1116 1] dial failed address="10.128.1.10:8443" error="connect ECONNREFUSED 10.128.1.10:8443"`,
    );
    expect(await bundle.found()).toEqual([]);
  });
});

describe("the kube-apiserver", () => {
  const log = "bootstrap/containers/kube-apiserver-9a.log";
  const pod = (...words: string[]) =>
    stringify({
      kind: "Pod",
      spec: { containers: [{ name: "kube-apiserver", command: ["kube-apiserver", ...words] }] },
    });
  const socket = "/etc/kubernetes/config/konnectivity-server.socket";
  const complaint = (time: string, why: string) =>
    `E1117 ${time}.919612    1430 egress_selector.go:215] failed to create connection to uds name ${socket}, error: dial unix ${socket}: connect: ${why}\n`;

  test.each([
    ["bootstrap/kubernetes/kube-apiserver.yaml", pod("--secure-port=6443")],
    [
      "rendered-assets/openshift/kube-apiserver-bootstrap/config",
      stringify({ kind: "KubeAPIServerConfig", apiServerArguments: { "allow-privileged": ["true"] } }),
    ],
  ])("without the egress flag is found in %s, where there is a bridge", async (file, text) => {
    bundle.put(file, text);
    expect(await bundle.found()).toEqual([]);
    serverPod("--mode=grpc");
    const { message, remedy, evidence } = await bundle.finding("api-server-flag");
    expect(message).toMatch(/has no --egress-selector-config-file/);
    expect(remedy).toMatch(/inject --check.*up --apply/);
    expect(evidence[0]).toContain(`${file}:`);
    bundle.put(
      file,
      text
        .replace("--secure-port=6443", "--egress-selector-config-file=/x")
        .replace("allow-privileged", "egress-selector-config-file"),
    );
    expect(await bundle.found()).toEqual([]);
  });

  test("that runs without the flag of its manifest is to be restarted", async () => {
    serverPod("--mode=grpc");
    bundle
      .put("bootstrap/kubernetes/kube-apiserver.yaml", pod("--egress-selector-config-file=/x"))
      .put(log, `I1117 05:00:00.000000 1 flags.go:64] FLAG: --egress-selector-config-file=""\n`);
    expect((await bundle.finding("api-server-flag")).remedy).toMatch(/^Restart the kube-apiserver/);
  });

  test.each<[string, RegExp, RegExp]>([
    [
      "permission denied",
      /may not use the socket .*konnectivity-server\.socket \(permission denied, 2 times\)/,
      /spc_t/,
    ],
    ["no such file or directory", /does not find the socket/, /mounted into the kube-apiserver's pod/],
    ["connection refused", /a socket that nobody listens on/, /Start the server/],
  ])("that gets %s at the socket is found by its own log", async (why, message, remedy) => {
    bundle.put(log, complaint("05:30:08", why) + complaint("05:30:09", why));
    const finding = await bundle.finding("api-server-socket");
    expect(finding.message).toMatch(message);
    expect(finding.remedy).toMatch(remedy);
    expect(finding.evidence.map((line) => /\.log:(\d)/.exec(line)?.[1])).toEqual(["1", "2"]);
  });

  test("that was there before the server made its socket is not reported", async () => {
    bundle
      .put(log, complaint("05:30:08", "no such file or directory"))
      .serverLog("I1117 05:30:09.745697    8870 server.go:105] Starting frontend server for client connections.");
    expect(await bundle.found()).toEqual([]);
    bundle.put(log, complaint("05:31:08", "no such file or directory"));
    expect(await bundle.found()).toEqual(["certain api-server-socket"]);
  });

  test("a socket that is not in its directory while the server runs is found without any call", async () => {
    serverPod("--uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket", "--agent-port=8091");
    bundle
      .put("bootstrap/network/netstat.txt", "LISTEN 0 4096 *:8091 *:*\n")
      .put("bootstrap/openshift/socket-directory.txt", "total 8\n-rw-r--r-- 1 0 0 20 Nov 17 05:30 other\n");
    expect(await bundle.found()).toEqual(["likely socket-missing"]);
    const line = "srwxr-xr-x 1 0 0 0 Nov 17 05:30 konnectivity-server.socket\n";
    bundle.put("bootstrap/openshift/socket-directory.txt", `total 8\n${line}`);
    expect(await bundle.found()).toEqual([]);
  });

  test("that ends again and again for its own reasons is not blamed on the bridge", async () => {
    const inspect = (attempt: number, state: string) => ({
      status: { metadata: { name: "kube-apiserver", attempt }, state, exitCode: 1, reason: "Error" },
    });
    bundle
      .put("bootstrap/containers/kube-apiserver-9a.inspect", inspect(5, "CONTAINER_EXITED"))
      .put(log, `E1117 05:00:00.000000 1 run.go:72] "command failed" err="open /x/tls.key: no such file"\n`);
    const { message, remedy } = await bundle.finding("api-server-ends");
    expect(message).toMatch(/5 restarts\): open \/x\/tls\.key: no such file$/);
    expect(remedy).toMatch(/the bridge is not the cause/);
  });

  test("with a webhook that fails by itself has its words shown, and no cause is made up", async () => {
    const text = `W1117 05:00:00.000000 1 dispatcher.go:225] Failed calling webhook, failing closed x: failed calling webhook "x": tls: failed to verify certificate`;
    bundle.put(log, text);
    const { findings, observations } = await bundle.analyze();
    expect(findings).toEqual([]);
    expect(observations.join()).toMatch(/could not call a webhook once; the last time: .*failed to verify certificate/);
  });
});

describe("certificates and addresses in the bundle", () => {
  test("certificates that had expired when the bundle was made are found", async () => {
    const old = new Date(Date.now() - 48 * hour);
    certificateFiles(await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] }, old));
    const { evidence } = await bundle.finding("certificate-expired");
    expect(evidence.map((line) => fileOf(line).split("/").at(-1)).sort()).toEqual([
      "agent.crt",
      "ca.crt",
      "server.crt",
    ]);
  });

  test("certificates that are not valid yet are found", async () => {
    certificateFiles(
      await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] }, new Date(Date.now() + 48 * hour)),
    );
    expect(await bundle.found()).toEqual(["likely certificate-not-yet-valid"]);
  });

  test("certificates that the authority beside them did not sign are found", async () => {
    certificateFiles(another, await certificatesFor("bootstrap", { ipAddresses: ["192.168.66.10"] }));
    expect(await bundle.found()).toEqual(["likely certificate-authority"]);
  });

  test("a DaemonSet with another address than certificate and host is found", async () => {
    certificateFiles(another);
    daemonSet("192.168.66.77");
    bundle.put("bootstrap/network/ip-addr.txt", "    inet 192.168.66.10/24 scope global eth0\n");
    expect(await bundle.found()).toEqual(["likely address-mismatch", "possible address-not-on-host"]);
    const { message, evidence } = await bundle.finding("address-mismatch");
    expect(message).toMatch(/dial 192\.168\.66\.77/);
    expect(evidence.join(" ")).toMatch(
      /--proxy-server-host=192\.168\.66\.77 .*IP Address:192\.168\.66\.10 .*addresses of the host: 192\.168\.66\.10/,
    );
    bundle.agentLog("n1", go("x509: certificate is valid for 192.168.66.10, not 192.168.66.77"));
    expect(await bundle.found()).toEqual([
      "certain certificate-san",
      "certain address-mismatch",
      "possible address-not-on-host",
    ]);
  });

  test("IPv6 addresses are compared in every spelling", async () => {
    certificateFiles(await certificatesFor("bootstrap", { ipAddresses: ["fd00::5"] }));
    daemonSet("fd00:0::5");
    expect(await bundle.found()).toEqual([]);
  });

  test("an egress configuration that does not fit the server is found", async () => {
    const egress = (proxyProtocol: string, udsName: string) =>
      bundle.put(
        "rendered-assets/openshift/egress-selector-config.yaml",
        stringify({
          apiVersion: "apiserver.k8s.io/v1beta1",
          kind: "EgressSelectorConfiguration",
          egressSelections: [{ name: "cluster", connection: { proxyProtocol, transport: { uds: { udsName } } } }],
        }),
      );
    serverPod("--mode=grpc", "--uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket");
    egress("GRPC", "/etc/kubernetes/config/konnectivity-server.socket");
    expect(await bundle.found()).toEqual([]);
    egress("HTTPConnect", "/etc/kubernetes/config/konnectivity-server.socket");
    expect((await bundle.finding("egress-config")).remedy).toMatch(/--mode=http-connect/);
    egress("GRPC", "/etc/kubernetes/bootstrap-configs/other.socket");
    expect((await bundle.finding("egress-config")).message).toMatch(/dials .*other\.socket/);
  });
});

describe("objects and events of the cluster", () => {
  const pod = (node: string, phase: string, reason = "", message = "", restartCount = 0) => ({
    metadata: { name: `konnectivity-agent-${node || "x"}`, namespace: "openshift-bootstrap-konnectivity" },
    spec: { ...(node && { nodeName: node }), containers: [agent("--proxy-server-host=192.168.66.10")] },
    status: {
      phase,
      conditions: [{ type: "Ready", status: "False" }],
      containerStatuses: [
        { name: "konnectivity-agent", restartCount, state: reason ? { waiting: { reason, message } } : {} },
      ],
    },
  });
  const event = (reason: string, message: string, name = "konnectivity-agent") => ({
    reason,
    message,
    involvedObject: { kind: "DaemonSet", name, namespace: "openshift-bootstrap-konnectivity" },
  });

  test("show an SCC that admits no agent", async () => {
    const text = `Error creating: pods "konnectivity-agent-" is forbidden: unable to validate against any security context constraint: [spec.hostNetwork: Invalid value: true]`;
    bundle.resources(
      "events",
      event("FailedCreate", text),
      event("SuccessfulCreate", "x"),
      event("FailedCreate", text, "konnectivity-agent"),
    );
    const finding = await bundle.finding("agents-forbidden");
    expect(finding).toMatchObject({ likelihood: "certain" });
    expect(finding.message).toMatch(/security context constraint/);
    expect(finding.remedy).toMatch(/hostnetwork-v2/);
    expect(finding.evidence[0]).toMatch(/^resources\/events\.json:/);
  });

  test("show agents that were killed for lack of memory", async () => {
    const killed = pod("n1", "Running", "", "", 3);
    const [status] = killed.status.containerStatuses;
    const lastState = { terminated: { exitCode: 137, reason: "OOMKilled" } };
    bundle.resources("pods", {
      ...killed,
      status: { ...killed.status, containerStatuses: [{ ...status, lastState }] },
    });
    expect((await bundle.finding("agents-killed")).remedy).toMatch(/limits\.memory/);
  });

  test("of pods that could not be created once are history when there are pods", async () => {
    bundle.resources(
      "events",
      event("FailedCreate", `pods "x" is forbidden: violates PodSecurity "restricted:latest"`),
    );
    expect(await bundle.found()).toEqual(["certain agents-forbidden"]);
    bundle.resources("pods", pod("n1", "Running"));
    expect(await bundle.found()).toEqual([]);
  });

  test("show pod security admission, and events of others are ignored", async () => {
    bundle.resources(
      "events",
      event("FailedCreate", `pods "x" is forbidden: violates PodSecurity "restricted:latest": host namespaces`),
    );
    expect((await bundle.finding("agents-forbidden")).remedy).toMatch(
      /pod-security\.kubernetes\.io\/enforce=privileged/,
    );
    bundle.resources("events", {
      reason: "FailedCreate",
      message: "is forbidden",
      involvedObject: { name: "x", namespace: "y" },
    });
    expect(await bundle.found()).toEqual([]);
  });

  test.each<[string, object[], string, RegExp]>([
    [
      "pending without a node",
      [pod("", "Pending"), pod("n1", "Running")],
      "likely agents-pending",
      /1 of 2 .* pending/,
    ],
    [
      "pending on a node without CNI",
      [pod("n1", "Pending", "ContainerCreating")],
      "likely agents-pending",
      /ContainerCreating/,
    ],
    [
      "crashing",
      [pod("n1", "Running", "CrashLoopBackOff", "back-off 40s")],
      "certain agents-crash-loop",
      /back-off 40s/,
    ],
    ["without an image", [pod("n1", "Pending", "ImagePullBackOff", "denied")], "certain agents-image", /denied/],
  ])("show agents that are %s", async (_, pods, expected, message) => {
    bundle.resources("pods", ...pods);
    expect(await bundle.found()).toEqual([expected]);
    expect((await bundle.analyze()).findings[0]?.message).toMatch(message);
  });

  test("show that the kube-apiserver gets no agent, unless that was before the first one connected", async () => {
    const at = (time: string) =>
      `W1116 ${time}.000000   1 dispatcher.go:217] failed calling webhook "x": No agent available`;
    const log = "bootstrap/containers/kube-apiserver-9a.log";
    bundle.put(log, [at("00:10:00"), at("00:20:00")].join("\n"));
    const { message, evidence } = await bundle.finding("no-agent");
    expect(message).toMatch(/2 times.*no agent ever connected/);
    expect(evidence.map((line) => /\.log:(\d+)/.exec(line)?.[1])).toEqual(["1", "2", undefined]);
    bundle.serverLog(`I1116 00:15:00.680000   1] agent connected agentId="a1"`);
    expect(await bundle.found()).toEqual(["possible no-agent"]);
    bundle.serverLog(`I1116 00:25:00.680000   1] agent connected agentId="a1"`);
    expect(await bundle.found()).toEqual([]);
  });

  test("show a server whose first strategy keeps it from being ready", async () => {
    serverPod("--proxy-strategies=destHost,defaultRoute");
    const metric = "konnectivity_network_proxy_server_ready_backends";
    bundle
      .put("bootstrap/health/readyz.txt", "500\nno connection to any proxy agent\n")
      .put(
        "bootstrap/metrics/server.txt",
        `# TYPE ${metric} gauge\n${metric}{proxy_strategy="defaultRoute"} 3\n${metric}{proxy_strategy="destHost"} 0\n`,
      );
    const { remedy, evidence } = await bundle.finding("never-ready");
    expect(remedy).toMatch(/--readiness=any/);
    expect(evidence.map(fileOf)).toEqual([
      "bootstrap/health/readyz.txt",
      "bootstrap/metrics/server.txt",
      "rendered-assets/openshift/konnectivity-server-pod.yaml",
    ]);
    bundle.put("bootstrap/metrics/server.txt", `${metric}{proxy_strategy="defaultRoute"} 0\n`);
    expect(await bundle.found()).toEqual([]);
  });
});

describe("evidence", () => {
  test("holds no secrets and no control characters, and is short", async () => {
    const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl";
    bundle.agentLog("n1", node(`no answer in time \u001b[31m Bearer ${token} ${"x".repeat(5000)}`));
    const [seen] = (await bundle.finding("port-blocked")).evidence;
    expect(seen?.length).toBeLessThan(420);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(seen).not.toMatch(/\u001b|eyJ/);
  });
});

test("causes come before what follows from them", async () => {
  bundle
    .serverLog("Error: unknown flag: --x", "Error: unknown flag: --x")
    .put("bootstrap/network/netstat.txt", "LISTEN 0 4096 *:6443 *:*\n")
    .agentLog("n1", node("connect ECONNREFUSED 192.168.66.10:8091"))
    .put("bootstrap/containers/kube-apiserver-9a.log", "W1116 00:10:00.000000 1 x] No agent available\n");
  expect(await bundle.found()).toEqual(["certain server-crash-loop", "possible port-closed", "possible no-agent"]);
});
