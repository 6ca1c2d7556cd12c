/** Teardown from a workstation: the bootstrap host's part is a script, here run by this machine's bash in a folder. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestBridge } from "../host/testing/bridge.js";
import { FakeHost } from "../host/testing/fake-host.js";
import { SshFailure } from "../ssh/ssh.js";
import type { RemoteHost } from "./host-side.js";
import { type Receipt, receiptMarkdown } from "./receipt.js";
import type { TeardownOptions } from "./teardown.js";

const assets = "/opt/openshift";
const socket = "/etc/kubernetes/bootstrap-configs/konnectivity-server.socket";
const pod = "/etc/kubernetes/manifests/konnectivity-server-pod.yaml";
const script = "/usr/local/bin/konnectivity.sh";
const files = [
  pod,
  `${assets}/tls/konnectivity/server.key`,
  `${assets}/manifests/konnectivity-agent-certs.yaml`,
  script,
];
const others = [`${assets}/bootkube.sh`, "/etc/kubernetes/manifests/etcd.yaml", "/etc/kubernetes/bootstrap-configs/x"];
const namespace = "/api/v1/namespaces/openshift-bootstrap-konnectivity";
const label = { "openshift.io/bootstrap-only": "true" };

let bridge: TestBridge;
/** The bootstrap host. */
let far: FakeHost;
beforeEach(async () => {
  bridge = await TestBridge.prepare("openshift");
  bridge.cluster.put(namespace, { metadata: { labels: label } });
  far = new FakeHost();
  for (const file of [...files, ...others]) far.put(file, "");
  far.put(`${assets}/cb-bootstrap.done`, "");
});
afterEach(async () => {
  await bridge.close();
  await far.remove();
});

const reached = (): RemoteHost => ({
  name: "192.0.2.50",
  async run(text) {
    const { status, stdout, stderr } = spawnSync("bash", ["-s"], {
      input: text,
      encoding: "utf8",
      env: { ...process.env, root: far.root },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    return stdout;
  },
});
const failing = (reason: Error): RemoteHost => ({
  name: "192.0.2.50",
  async run() {
    throw reason;
  },
});
const teardown = (bootstrap: RemoteHost | undefined, options: Partial<TeardownOptions> = {}): Promise<Receipt> =>
  bridge.teardown({ kubeconfig: "/admin.conf", elsewhere: { bootstrap }, ...options });
const present = (): string[] =>
  [...files, ...others].filter((path) => far.tree().some((line) => line.startsWith(`${path} `)));
const stateOf = ({ items }: Receipt, end: string) => items.find(({ name }) => name.endsWith(end))?.state;

describe("teardown over SSH: a bootstrap host that answers", () => {
  test("is cleaned with the cluster, and this host is left alone", async () => {
    bridge.host.put("/opt/openshift/tls/konnectivity/server.key", "not the bridge's");
    bridge.host.put("/var/lib/drawbridge-bootstrap/bridge.json", "another bridge's");
    const before = bridge.host.tree();
    const receipt = await teardown(reached());
    expect(receipt).toMatchObject({ exitCode: 0, clean: true, nothingToDo: false, warnings: [] });
    expect(bridge.cluster.labelled).toEqual([]);
    expect(stateOf(receipt, "konnectivity-server-pod.yaml")).toBe("removed");
    expect(stateOf(receipt, "tls/konnectivity")).toBe("removed");
    expect(stateOf(receipt, "konnectivity-server.socket")).toBe("absent");
    // bootkube.sh still reads its scripts.
    expect(present()).toEqual([script, ...others]);
    expect(bridge.host.tree()).toEqual(before);
  });

  test("loses its scripts when bootkube is done, and a second run does nothing", async () => {
    far.put(`${assets}/.bootkube.done`, "");
    await teardown(reached());
    expect(present()).toEqual(others);
    expect(await teardown(reached())).toMatchObject({ exitCode: 0, nothingToDo: true });
  });

  test("stops the teardown while cluster-bootstrap is at work, unless forced", async () => {
    await far.files.remove(`${assets}/cb-bootstrap.done`);
    const receipt = await teardown(reached());
    expect(receipt.exitCode).toBe(1);
    expect(receipt.warnings.join()).toContain("Wait until bootstrap is complete");
    expect(bridge.cluster.labelled).toEqual([namespace]);
    expect(present()).toEqual([...files, ...others]);
    expect((await teardown(reached(), { force: true })).exitCode).toBe(0);
    expect(present()).toEqual([script, ...others]);
  });

  test("reports a server that does not end", async () => {
    far.put("/proc/77/cmdline", ["/usr/bin/proxy-server", `--uds-name=${socket}`, ""].join("\0"));
    const receipt = await teardown(reached(), { timeoutMs: 1_000 });
    expect(receipt.exitCode).toBe(3);
    expect(receipt.items.find(({ state }) => state === "left")).toMatchObject({
      name: `static pod ${pod}`,
      detail: "the kubelet has not ended its container yet",
    });
    // A word that only begins like that is another's.
    far.put("/proc/77/cmdline", ["/usr/bin/proxy-server", `--uds-name=${socket}2`, ""].join("\0"));
    expect((await teardown(reached(), { timeoutMs: 1_000 })).exitCode).toBe(0);
  });

  test("is believed only where it gives an answer", async () => {
    const silent: RemoteHost = {
      name: "x",
      run: async () => `${assets}\tthere\t\n${assets}/cb-bootstrap.done\tthere\t\n`,
    };
    const receipt = await teardown(silent);
    expect(receipt.exitCode).toBe(3);
    expect(receipt.items.find(({ state }) => state === "left")?.detail).toContain("did not say what became of it");
  });
});

describe("teardown over SSH: a bootstrap host that does not answer", () => {
  test("is taken for gone: the cluster is cleaned, and a note says so", async () => {
    const receipt = await teardown(failing(new SshFailure("192.0.2.50 cannot be used over SSH: no route.", true)));
    expect(receipt).toMatchObject({ exitCode: 0, clean: true, warnings: [] });
    expect(bridge.cluster.labelled).toEqual([]);
    expect(receiptMarkdown(receipt)).toContain(
      "- The bootstrap machine, if it still exists: 192.0.2.50 cannot be used",
    );
    expect(present()).toEqual([...files, ...others]);
  });

  test("is not taken for gone when another host answers: the remedy is named", async () => {
    const receipt = await teardown(failing(new SshFailure("192.0.2.50 shows another host key.", false)));
    expect(receipt).toMatchObject({ exitCode: 3, clean: false, nothingToDo: false });
    expect(receipt.warnings.join()).toMatch(
      /another host key; if the machine is gone .* give --kubeconfig and no --dir/,
    );
    expect(bridge.cluster.labelled).toEqual([]);
    expect(receiptMarkdown(receipt)).toContain("**Not clean.** What is left is not known");
  });

  test("may be unknown, where the installer made no machines", async () => {
    const receipt = await teardown(undefined);
    expect(receipt.exitCode).toBe(0);
    expect(receipt.others.notes[0]).toContain("name it with --bootstrap");
  });
});

test("the removal script passes shellcheck", ({ skip }) => {
  const path = fileURLToPath(new URL("./shell/remove.sh", import.meta.url));
  const { status, stdout, error } = spawnSync("shellcheck", [path], { encoding: "utf8" });
  if (error !== undefined) return skip("shellcheck is missing: run .ci/install-packages.");
  expect(stdout).toBe("");
  expect(status).toBe(0);
});
