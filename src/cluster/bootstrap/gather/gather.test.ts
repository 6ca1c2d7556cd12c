/** The collection script, run by bash over files like those of a host, and the archive that is made of them. */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ArchiveWriter } from "../../../base/archive-writer.js";
import { tarEntries } from "../../../base/tar.js";
import { certificatesFor, writePki } from "../../../tunnel/pki/write-pki.js";
import { bridgeModel } from "../model/model.js";
import { checkedHost, checkedUser, type SshTarget, sshCommand, sshFailure } from "../ssh/ssh.js";
import { gather } from "./gather.js";
import { collectionScript, scriptEntries } from "./host.js";
import { bootstrapCalls, type Call, nodeCalls, nothingFurther } from "./plan.js";
import { serviceRun } from "./testing/service-run.js";

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "drawbridge-gather-test-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
});

function put(path: string, text = `contents of ${path}\n`): void {
  const file = join(scratch, "root", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

async function collected(calls: readonly Call[]): Promise<Record<string, string>> {
  const script = collectionScript(calls, join(scratch, "root"));
  const found: Record<string, string> = {};
  for await (const entry of scriptEntries({ script, over: undefined, timeoutMs: 30_000 })) {
    const pieces: Buffer[] = [];
    for await (const piece of entry.content()) pieces.push(piece);
    found[entry.path] = Buffer.concat(pieces).toString();
  }
  return found;
}

describe("the collection script", () => {
  test("takes records, logs, manifests and certificates, and no key, kubeconfig or Secret", async () => {
    put("/var/log/openshift/bootkube.json", JSON.stringify(serviceRun({ "konnectivity-certs": "success" })));
    put("/var/log/pods/kube-system_konnectivity-server-bs_0a1b/konnectivity-server/3.log");
    put("/var/log/pods/openshift-kube-apiserver_bootstrap-kube-apiserver_9f/kube-apiserver/0.log");
    put("/opt/openshift/konnectivity-server-pod.yaml");
    put("/opt/openshift/manifests/konnectivity-agent-daemonset.yaml");
    put("/opt/openshift/manifests/konnectivity-agent-certs.yaml", "kind: Secret\n");
    put("/opt/openshift/konnectivity-agent-certs-secret.yaml", "kind: Secret\n");
    put("/opt/openshift/konnectivity-certs.done", "");
    put("/opt/openshift/auth/kubeconfig");
    await writePki(
      join(scratch, "root/opt/openshift/tls/konnectivity"),
      await certificatesFor("bootstrap", { ipAddresses: ["192.0.2.1"] }),
    );
    put("/etc/kubernetes/manifests/konnectivity-server-pod.yaml");
    put("/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml");
    put("/etc/resolv.conf");
    const found = await collected(bootstrapCalls());
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([
        "bootstrap/services/bootkube.json",
        "bootstrap/containers/konnectivity-server-kube-system-konnectivity-server-bs-0a1b-3.log",
        "bootstrap/containers/kube-apiserver-openshift-kube-apiserver-bootstrap-kube-apiserver-9f-0.log",
        "bootstrap/kubernetes/konnectivity-server-pod.yaml",
        "bootstrap/openshift/egress-selector-config.yaml",
        "bootstrap/openshift/socket-directory.txt",
        "bootstrap/network/ip-addr.txt",
        "bootstrap/network/netstat.txt",
        "bootstrap/network/resolv.conf",
        "bootstrap/time.txt",
        "rendered-assets/openshift/konnectivity-server-pod.yaml",
        "rendered-assets/openshift/manifests/konnectivity-agent-daemonset.yaml",
        "rendered-assets/openshift/tls/konnectivity/ca.crt",
        "rendered-assets/openshift/tls/konnectivity/server.crt",
        "rendered-assets/openshift/tls/konnectivity/pki.json",
        "rendered-assets/openshift/done.txt",
      ]),
    );
    expect(Object.keys(found).filter((path) => /\.key$|kubeconfig|secret|agent-certs\.yaml/.test(path))).toEqual([]);
    expect(Object.values(found).join("\n")).not.toMatch(/PRIVATE KEY|kind: Secret/);
  });

  test("takes what says whether a kube-apiserver can use the socket: manifest, and who may pass to the socket", async () => {
    const pod = "spec: {containers: [{name: kube-apiserver, args: [--egress-selector-config-file=/a]}]}\n";
    put("/etc/kubernetes/manifests/kube-apiserver-pod.yaml", pod);
    put("/etc/kubernetes/bootstrap-configs/konnectivity-server.socket", "");
    chmodSync(join(scratch, "root/etc/kubernetes/bootstrap-configs/konnectivity-server.socket"), 0o600);
    chmodSync(join(scratch, "root/etc/kubernetes/bootstrap-configs"), 0o700);
    const found = await collected(bootstrapCalls());
    expect(found["bootstrap/kubernetes/kube-apiserver-pod.yaml"]).toBe(pod);
    const lines = (found["bootstrap/openshift/socket-access.txt"] ?? "").split("\n");
    const configs = "/etc/kubernetes/bootstrap-configs";
    expect(lines[0]).toMatch(
      new RegExp(`^${configs}/konnectivity-server.socket regular empty file, mode 600, owner \\d+:\\d+, label `),
    );
    expect(lines[1]).toMatch(new RegExp(`^${configs} directory, mode 700, owner \\d+:\\d+, label `));
    expect(found["bootstrap/kubeadm/socket-access.txt"]).toMatch(
      /^\/run\/drawbridge-bootstrap\/konnectivity-server.socket is not there\n/,
    );
  });

  test("takes the records of a clean-up that outlasted bootkube", async () => {
    put("/var/log/openshift/konnectivity-cleanup.json", "[]");
    put("/opt/openshift/konnectivity-cleanup.json", '{"state":"pending"}\n');
    put("/etc/systemd/system/konnectivity-cleanup.service");
    const found = await collected(bootstrapCalls());
    expect(found["rendered-assets/openshift/konnectivity-cleanup.json"]).toBe('{"state":"pending"}\n');
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([
        "bootstrap/services/konnectivity-cleanup.json",
        "bootstrap/units/konnectivity-cleanup.service",
      ]),
    );
  });

  test("takes the files of a kubeadm or bare host, and logs that the caller names", async () => {
    put("/etc/kubernetes/drawbridge-bootstrap/egress-selector-config.yaml");
    put("/etc/kubernetes/drawbridge-bootstrap/pki/server.crt");
    put("/etc/kubernetes/drawbridge-bootstrap/pki/server.key");
    put("/var/lib/drawbridge-bootstrap/server.log");
    put("/some where/it's.log", "odd name\n");
    const logs = [{ name: "kube-apiserver", file: "/some where/it's.log" }];
    const found = await collected(bootstrapCalls({ ...nothingFurther, logs }));
    expect(found["bootstrap/containers/kube-apiserver-given.log"]).toBe("odd name\n");
    expect(Object.keys(found)).toEqual(
      expect.arrayContaining([
        "bootstrap/kubeadm/egress-selector-config.yaml",
        "bootstrap/pki/server.crt",
        "bootstrap/containers/konnectivity-server-process.log",
      ]),
    );
    expect(Object.keys(found).join()).not.toMatch(/server\.key/);
  });

  test("takes the agents' logs on a node", async () => {
    put("/var/log/pods/x_konnectivity-agent-4_77/konnectivity-agent/0.log");
    const found = await collected(nodeCalls("n1"));
    expect(Object.keys(found)).toContain(
      "control-plane/n1/containers/konnectivity-agent-x-konnectivity-agent-4-77-0.log",
    );
  });

  test("keeps the end of a long log, and leaves nothing in the temporary directory", async () => {
    put("/big.log", `${`${"x".repeat(1023)}\n`.repeat(9 * 1024)}password=${"y".repeat(9)}the end\n`);
    const temporary = join(scratch, "tmp");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    const found = await collected([["file", "/big.log", "bootstrap/big.log"]]);
    // From the start of a line on: one that the cut went through may hold half a secret.
    expect(found["bootstrap/big.log"]?.length).toBeGreaterThan(8 * 1024 * 1024 - 2048);
    expect(found["bootstrap/big.log"]).toMatch(/^x{1023}\n/);
    expect(found["bootstrap/big.log"]).toMatch(/the end\n$/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("asks the container runtime and the journal where they are", async () => {
    const bin = join(scratch, "bin");
    mkdirSync(bin);
    const stub = (name: string, text: string) =>
      writeFileSync(join(bin, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
    stub(
      "crictl",
      'case "$1" in ps) [[ $5 == "^konnectivity-server\\$" ]] && echo 0123456789abcdef0123 ;; logs) echo "log of $2" >&2 ;; *) echo "{\\"status\\":{}}" ;; esac',
    );
    stub("systemctl", "[[ $2 == bootkube.service ]]");
    stub("journalctl", 'echo "journal $*"');
    const path = process.env.PATH;
    process.env.PATH = `${bin}:${path}`;
    try {
      const script = collectionScript([
        ["containers", "bootstrap", "konnectivity-server", "kube-apiserver"],
        ["journal", "bootkube.service", "bootstrap"],
        ["journal", "other.service", "bootstrap"],
      ]);
      const found: Record<string, string> = {};
      for await (const entry of scriptEntries({ script, over: undefined, timeoutMs: 30_000 })) {
        for await (const piece of entry.content()) found[entry.path] = piece.toString();
      }
      expect(found).toMatchObject({
        "bootstrap/containers/konnectivity-server-0123456789abc.log": "log of 0123456789abcdef0123\n",
        "bootstrap/containers/konnectivity-server-0123456789abc.inspect": '{"status":{}}\n',
        "bootstrap/journals/bootkube.log": expect.stringMatching(/--unit bootkube\.service/),
      });
      expect(Object.keys(found).join()).not.toMatch(/other/);
    } finally {
      process.env.PATH = path;
    }
  });

  test("is ended when it hangs", async () => {
    const script = "exec 2>&1; sleep 60";
    const run = scriptEntries({ script, over: undefined, timeoutMs: 300 });
    await expect(run.next()).rejects.toMatchObject({
      code: "DB_GATHER",
      message: "This host was not done within 0.3 s.",
    });
  });

  test("passes shellcheck", ({ skip }) => {
    if (spawnSync("shellcheck", ["--version"]).status !== 0) skip("shellcheck is not installed");
    const script = collectionScript([...bootstrapCalls(), ...nodeCalls("n1")]);
    const { stdout, status } = spawnSync("shellcheck", ["--shell=bash", "-"], { input: script, encoding: "utf8" });
    expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
  });
});

describe("the archive", () => {
  test("is readable by the system's tar, with long names, and has mode 0600", async () => {
    const out = join(scratch, "a.tar.gz");
    const long = `root/control-plane/${"n".repeat(60)}/containers/${"p".repeat(90)}.log`;
    const archive = new ArchiveWriter(out);
    await archive.add("root/short.txt", Buffer.from("hello"), new Date());
    await archive.add(long, Buffer.from("x".repeat(1024)), new Date());
    await archive.close();
    expect(statSync(out).mode & 0o777).toBe(0o600);
    expect(execFileSync("tar", ["-tzf", out], { encoding: "utf8" }).trim().split("\n")).toEqual([
      "root/short.txt",
      long,
    ]);
    expect(execFileSync("tar", ["-xzOf", out, "root/short.txt"], { encoding: "utf8" })).toBe("hello");
    const ours = [];
    const plain = execFileSync("gunzip", ["-c", out]);
    for await (const { path } of tarEntries(chunks(plain))) ours.push(path);
    expect(ours).toEqual(["root/short.txt", long]);
  });

  test("is not written when it cannot be finished, and an older file stays", async () => {
    const archive = new ArchiveWriter(join(scratch, "no/such/folder.tar.gz"));
    await expect(
      (async () => {
        await archive.add("x", Buffer.alloc(5_000_000, "y"), new Date());
        await archive.close();
      })(),
    ).rejects.toMatchObject({ code: "DB_ARCHIVE_WRITE" });
    const out = join(scratch, "old.tar.gz");
    writeFileSync(out, "old");
    const given = new ArchiveWriter(out);
    await given.add("x", Buffer.from("y"), new Date());
    await given.discard();
    expect(readFileSync(out, "utf8")).toBe("old");
    expect(readdirSync(scratch)).toEqual(["old.tar.gz"]);
  });

  test("names the parts that failed, and is not written when all of them failed", async () => {
    const over: SshTarget = {
      host: "192.0.2.1",
      user: "core",
      port: 1,
      keyFile: "/nowhere",
      knownHostsFile: "/dev/null",
    };
    const base = { version: "0", now: new Date(), cluster: undefined, timeoutMs: 10_000 };
    const out = join(scratch, "x.tar.gz");
    const unreachable = { ...over, host: "127.0.0.1" };
    const asked = gather({ ...base, out, host: { over: unreachable, plan: nothingFurther }, nodes: [] });
    await expect(asked).rejects.toMatchObject({
      code: "DB_SSH",
      message: expect.stringMatching(/^127\.0\.0\.1 cannot be used over SSH/),
    });
    expect(readdirSync(scratch)).toEqual([]);
    const partly = await gather({
      ...base,
      out,
      host: { over: undefined, plan: nothingFurther },
      nodes: [unreachable],
    });
    expect(partly).toMatchObject({ complete: false, manifest: { sources: ["this host"] } });
    expect(partly.manifest.failures.join()).toMatch(/127\.0\.0\.1 cannot be used over SSH/);
  });
});

async function* chunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

test("the directories that `up` recorded are collected, too", () => {
  const model = bridgeModel({ for: "bare", configDirectory: "/x/drawbridge-etc" });
  const calls = bootstrapCalls({ ...nothingFurther, recorded: { directory: "/x/drawbridge-state", model } });
  expect(calls).toEqual(
    expect.arrayContaining<Call>([
      ["files", "/x/drawbridge-etc/pki", "*.crt", "bootstrap/pki"],
      ["file", "/x/drawbridge-state/server.log", "bootstrap/containers/konnectivity-server-process.log"],
    ]),
  );
});

describe("ssh", () => {
  const target: SshTarget = {
    host: "192.0.2.1",
    user: "core",
    port: 22,
    keyFile: "/tmp/k",
    knownHostsFile: "/a b/100%/known",
  };

  test("never prompts, forwards nothing, and passes the host after --", () => {
    const words = sshCommand(target);
    expect(words).toEqual(
      expect.arrayContaining([
        "BatchMode=yes",
        "ForwardAgent=no",
        "IdentitiesOnly=yes",
        "StrictHostKeyChecking=accept-new",
        'UserKnownHostsFile="/a b/100%%/known"',
      ]),
    );
    expect(words.slice(words.indexOf("--"))).toEqual([
      "--",
      "core@192.0.2.1",
      expect.stringContaining("sudo -n bash -s"),
    ]);
    expect(words.join(" ")).not.toMatch(/StrictHostKeyChecking=no/);
  });

  test("uses the same options for the host that it goes through", () => {
    const words = sshCommand({ ...target, host: "10.0.0.1", through: target });
    const proxy = words.find((word) => word.startsWith("ProxyCommand="));
    expect(proxy).toMatch(/'BatchMode=yes'.*'StrictHostKeyChecking=accept-new'/);
    expect(proxy).toMatch(/'-W' \[%h\]:%p '--' 'core@192\.0\.2\.1'$/);
  });

  test.each(["-oProxyCommand=touch x", "a b", "$(x)", "", "host;x", "-"])(
    "refuses %j as a host and as a user",
    (word) => {
      expect(() => checkedHost(word)).toThrow(/neither an address nor the name/);
      expect(() => checkedUser(word)).toThrow(/not the name of a user/);
    },
  );

  test("accepts addresses and host names", () => {
    expect(["192.0.2.1", "fd00::5", "[fd00::5]", "boot.example.com"].map(checkedHost)).toEqual([
      "192.0.2.1",
      "fd00::5",
      "fd00::5",
      "boot.example.com",
    ]);
  });

  test.each<[string, RegExp]>([
    ["core@192.0.2.1: Permission denied (publickey).", /does not accept the key/],
    [
      "@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.",
      /another host key .*known/,
    ],
    ["sudo: a password is required", /become root/],
    ["ssh: connect to host 192.0.2.1 port 22: Connection refused", /nothing answers/],
    ["ssh: connect to host 192.0.2.1 port 22: Connection timed out", /does not answer/],
    ["something unheard of", /something unheard of/],
    ["", /ssh ended with 255/],
  ])("explains %j in one sentence", (stderr, sentence) => {
    const failure = sshFailure(target, 255, stderr);
    expect(failure.message).toMatch(/^192\.0\.2\.1 cannot be used over SSH: .*\.$/);
    expect(failure.message).toMatch(sentence);
  });
});
