import { chmodSync, chownSync, lchownSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestBridge } from "../host/testing/bridge.js";
import { kubeadmManifest, kubeadmManifestPath } from "../host/testing/kubeadm-manifest.js";
import { type Receipt, type ReceiptItem, receiptMarkdown } from "./receipt.js";

const formerRecord = readFileSync(new URL("../host/testing/former-bridge.json", import.meta.url), "utf8");

let bridge: TestBridge;
afterEach(() => bridge.close());

const bareFlag = "--egress-selector-config-file=/etc/drawbridge-bootstrap/egress-selector-config.yaml";
const kubeadmFlag = "--egress-selector-config-file=/etc/kubernetes/drawbridge-bootstrap/egress-selector-config.yaml";
const bare = { for: "bare", kubeconfig: "/admin.conf", serverForm: "process" } as const;
const namespace = "/api/v1/namespaces/drawbridge-bootstrap";
const label = { "openshift.io/bootstrap-only": "true" };

const item = ({ items }: Receipt, name: string): Pick<ReceiptItem, "state" | "detail"> => {
  const found = items.filter((each) => each.name.includes(name));
  expect(found, name).toHaveLength(1);
  return { state: found[0]!.state, detail: found[0]!.detail };
};
const states = ({ items }: Receipt): string[] => [...new Set(items.map(({ state }) => state))].sort();
const apiIsAway = (): void => {
  bridge.cluster.intercept = (_, response) => {
    response.destroy();
    return true;
  };
};

describe("teardown on a host that kubeadm made", () => {
  beforeEach(async () => {
    bridge = await TestBridge.prepare("kubeadm");
  });

  test("restores the kube-apiserver first, then takes everything, and the host is as it was", async () => {
    const before = bridge.host.tree();
    await bridge.up({ apply: true });
    const manifests: string[] = [];
    bridge.cluster.intercept = ({ method }) => {
      if (method === "DELETE") manifests.push(bridge.host.text(kubeadmManifestPath));
      return false;
    };
    const receipt = await bridge.teardown();
    expect(receipt).toMatchObject({ exitCode: 0, clean: true, nothingToDo: false, apiAnswered: true, warnings: [] });
    expect(manifests).toEqual([kubeadmManifest, kubeadmManifest, kubeadmManifest]);
    expect(bridge.host.tree()).toEqual(before);
    expect(bridge.cluster.labelled).toEqual([]);
    expect(item(receipt, "kube-apiserver --egress")).toMatchObject({ state: "restored" });
    expect(item(receipt, "static pod")).toMatchObject({ state: "removed" });
    expect(bridge.cluster.stub.requests.find(({ method }) => method === "DELETE")?.body).toMatchObject({
      propagationPolicy: "Background",
    });
  });

  test("understands the record of an earlier version, and takes the address that it kept apart", async () => {
    const before = bridge.host.tree();
    await bridge.up({ apply: true });
    bridge.host.put("/var/lib/drawbridge-bootstrap/bridge.json", formerRecord, 0o600);
    const address = { target: "192.0.2.10", sans: ["192.0.2.10"], source: "route" };
    bridge.host.put("/etc/kubernetes/drawbridge-bootstrap/bridge-address.json", JSON.stringify(address), 0o600);
    const { lines } = await bridge.status();
    expect(lines.filter(({ name }) => name === "address" || name === "certificates")).toMatchObject([
      { ok: true },
      { ok: true },
    ]);
    expect(await bridge.teardown()).toMatchObject({ exitCode: 0, clean: true, warnings: [] });
    expect(bridge.host.tree()).toEqual(before);
    expect(bridge.cluster.labelled).toEqual([]);
  });

  test("says when each thing was opened, and no secret", async () => {
    await bridge.up({ apply: true });
    const receipt = await bridge.teardown();
    const recorded = receipt.items.filter(({ openedAt }) => openedAt !== undefined).map(({ name }) => name);
    expect(recorded).toEqual(
      expect.arrayContaining([
        "Namespace drawbridge-bootstrap",
        "directory /run/drawbridge-bootstrap",
        "directory /etc/kubernetes/drawbridge-bootstrap/pki",
        `kube-apiserver ${kubeadmFlag}`,
      ]),
    );
    expect(JSON.stringify(receipt)).not.toMatch(/PRIVATE KEY|BEGIN CERT/);
  });

  test("does nothing the second time, and says so", async () => {
    await bridge.up({ apply: true });
    await bridge.teardown();
    const tree = bridge.host.tree();
    const calls = bridge.cluster.stub.calls.length;
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(receipt).toMatchObject({ exitCode: 0, clean: true, nothingToDo: true });
    expect(states(receipt)).toEqual(["absent"]);
    expect(bridge.host.tree()).toEqual(tree);
    expect(bridge.cluster.stub.calls.slice(calls).filter((call) => !call.startsWith("GET "))).toEqual([]);
  });

  test("takes only what is its own out of a manifest that was changed since", async () => {
    await bridge.up({ apply: true });
    bridge.host.put(kubeadmManifestPath, bridge.host.text(kubeadmManifestPath).replace("v1.34.1", "v1.34.2"));
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.text(kubeadmManifestPath)).toBe(kubeadmManifest.replace("v1.34.1", "v1.34.2"));
  });

  test("gives back the very bytes, also of a manifest that nobody would write like this", async () => {
    const odd = kubeadmManifest
      .replace("    image: registry", '    "image":    registry')
      .replace("  hostNetwork: true", "  hostNetwork:   true   # yes\n\n\n");
    bridge.host.put(kubeadmManifestPath, odd);
    await bridge.up({ apply: true });
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.text(kubeadmManifestPath)).toBe(odd);
  });

  test("does without a backup that was damaged", async () => {
    await bridge.up({ apply: true });
    bridge.host.put("/var/lib/drawbridge-bootstrap/kube-apiserver.yaml", "damaged");
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.text(kubeadmManifestPath)).toBe(kubeadmManifest);
  });

  test("takes the flag out without a record, too", async () => {
    await bridge.up({ apply: true });
    await bridge.host.files.remove("/var/lib/drawbridge-bootstrap");
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(receipt.exitCode).toBe(0);
    expect(bridge.host.text(kubeadmManifestPath)).toBe(kubeadmManifest);
    expect(bridge.host.tree().filter((line) => line.includes("drawbridge"))).toEqual([]);
    expect(bridge.cluster.labelled).toEqual([]);
  });

  test("removes nothing while a kube-apiserver still runs with the flag, unless forced", async () => {
    await bridge.up({ apply: true });
    bridge.host.plain.push({ pid: 9, argv: ["kube-apiserver", kubeadmFlag] });
    const [labelled, start] = [bridge.cluster.labelled, bridge.host.now()];
    const receipt = await bridge.teardown({ timeoutMs: 30_000 });
    expect(receipt).toMatchObject({ exitCode: 1, clean: false });
    expect(receipt.warnings.join()).toMatch(/Take --egress-selector-config-file=.* away in .*, then run the teardown/);
    expect(bridge.host.now() - start).toBeLessThanOrEqual(31_000);
    expect(bridge.cluster.labelled).toEqual(labelled);
    expect(item(receipt, "directory /run/drawbridge")).toMatchObject({ state: "left" });
    expect(item(await bridge.teardown({ force: true, timeoutMs: 30_000 }), "Namespace")).toMatchObject({
      state: "removed",
    });
    expect(bridge.cluster.labelled).toEqual([]);
  });

  test("goes on when the restored kube-apiserver is not ready in time, and says so", async () => {
    await bridge.up({ apply: true });
    bridge.cluster.isReady = false;
    const receipt = await bridge.teardown({ timeoutMs: 30_000 });
    expect(receipt.warnings.join()).toContain("was not ready again before the limit");
    expect(item(receipt, "kube-apiserver --egress")).toMatchObject({ state: "restored" });
    expect(receipt.exitCode).toBe(0);
  });
});

describe("teardown on a bare host", () => {
  beforeEach(async () => {
    bridge = await TestBridge.prepare("bare");
  });

  test("asks for the flag to be taken away and waits for it, then ends the server", async () => {
    const before = bridge.host.tree();
    await bridge.up(bare);
    bridge.restartApiServer(bareFlag);
    const { host } = bridge;
    const pause = host.pause.bind(host);
    let pauses = 0;
    host.pause = async (ms) => {
      if (++pauses === 8) bridge.restartApiServer();
      // Until then, all must be there.
      if (pauses < 8) expect(bridge.cluster.hasAgents && host.plain.length === 2).toBe(true);
      await pause(ms);
    };
    const receipt = await bridge.teardown();
    expect(bridge.reports[0]).toBe(
      `Take ${bareFlag} away from the kube-apiserver's command and restart the kube-apiserver; waiting for it.`,
    );
    expect(receipt.exitCode).toBe(0);
    expect(item(receipt, "server process")).toMatchObject({ state: "removed" });
    expect(host.plain.map(({ pid }) => pid)).toEqual([7]);
    expect(host.tree()).toEqual(before);
  });

  test("runs the owner's command, and stops when that fails", async () => {
    const commands: string[] = [];
    bridge.host.answers = ([program, , command = ""], env) => {
      if (program !== "sh") return undefined;
      commands.push(command);
      if (command === "on") bridge.restartApiServer(env.EGRESS_FLAG ?? "");
      if (command === "off") bridge.restartApiServer();
      return { code: command === "broken" ? 1 : 0, stdout: "", stderr: "" };
    };
    await bridge.up({ ...bare, applyCommand: "on", restoreCommand: "broken" });
    const failed = await bridge.teardown();
    expect(failed.exitCode).toBe(1);
    expect(item(failed, "kube-apiserver")).toMatchObject({ state: "left", detail: /"broken" ended with 1/ });
    expect(bridge.cluster.hasAgents).toBe(true);
    expect((await bridge.teardown({ restoreCommand: "off" })).exitCode).toBe(0);
    expect(commands).toEqual(["on", "broken", "off"]);
  });

  test("kills a server that ignores SIGTERM", async () => {
    await bridge.up(bare);
    bridge.host.stubborn = true;
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.plain.map(({ pid }) => pid)).toEqual([7]);
  });

  test("disables and removes a unit, and leaves it when systemd refuses", async () => {
    await bridge.up({ ...bare, serverForm: "systemd" });
    bridge.host.commands.length = 0;
    bridge.host.answers = () => ({ code: 1, stdout: "", stderr: "no bus" });
    expect(item(await bridge.teardown(), "unit")).toMatchObject({ state: "left", detail: /ended with 1: no bus/ });
    bridge.host.answers = () => undefined;
    expect((await bridge.teardown()).exitCode).toBe(0);
    expect(bridge.host.commands.map((words) => words[1])).toEqual(["disable", "disable", "daemon-reload"]);
  });

  test("says of no object that it is left when nothing is recorded and the API is away", async () => {
    apiIsAway();
    const receipt = await bridge.teardown({ timeoutMs: 5_000, kubeconfig: "/admin.conf" });
    expect(receipt).toMatchObject({ exitCode: 3, clean: false, apiAnswered: false });
    expect(receipt.items.filter(({ state }) => state === "left")).toEqual([]);
    expect(receipt.warnings.join()).toContain("so whether a bridge has left objects in the cluster is not known (");
    expect(receiptMarkdown(receipt)).toContain("**Not clean.** What is left is not known; the warnings say why.");
  });

  test("cleans the host when the API is away, within its limit, and the cluster the next time", async () => {
    const before = bridge.host.tree();
    await bridge.up(bare);
    apiIsAway();
    const start = bridge.host.now();
    const receipt = await bridge.teardown({ timeoutMs: 20_000 });
    expect(bridge.host.now() - start).toBeLessThanOrEqual(21_000);
    expect(receipt).toMatchObject({ exitCode: 3, clean: false, apiAnswered: false });
    expect(receipt.warnings.join()).toContain("did not answer, so the agents' objects stay in namespace");
    expect(receipt.warnings.join()).toMatch(
      /\(The Kubernetes API at http\S+ did not answer .+\)\. .+ Run the teardown again/,
    );
    expect(item(receipt, "Namespace")).toEqual({ state: "left", detail: "the Kubernetes API did not answer" });
    // `up` does not make these, so nobody knows of them.
    const unknown = receipt.items.filter(({ state }) => state === "unknown").map(({ name }) => name);
    expect(unknown).toEqual([
      ...["DaemonSet kube-system/konnectivity-agent", "Secret kube-system/konnectivity-agent-certs"],
    ]);
    expect(receiptMarkdown(receipt)).toMatch(/ things are left, and of 2 more it is not known; run the teardown again/);
    const rest = bridge.host.tree().filter((line) => !before.includes(line));
    expect(rest.map((line) => line.split(" ")[0])).toEqual([
      ...["/var/lib/drawbridge-bootstrap/", "/var/lib/drawbridge-bootstrap/bridge.json"],
    ]);
    bridge.cluster.intercept = () => false;
    expect(await bridge.teardown()).toMatchObject({ exitCode: 0, clean: true });
    expect(bridge.host.tree()).toEqual(before);
    expect(bridge.cluster.labelled).toEqual([]);
  });

  test("warns of a flag that would keep a stopped kube-apiserver from starting", async () => {
    await bridge.up(bare);
    bridge.host.plain.splice(0, 1);
    apiIsAway();
    const { warnings } = await bridge.teardown({ timeoutMs: 5_000 });
    expect(warnings[0]).toMatch(/No kube-apiserver runs here\. One that still has --egress-.* will not start again/);
  });

  test("does not wait for a namespace's finalizers", async () => {
    await bridge.up(bare);
    bridge.cluster.namespacesLinger = true;
    const start = bridge.host.now();
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(0);
    expect(item(receipt, "Namespace")).toMatchObject({ state: "going" });
    expect(bridge.host.now() - start).toBeLessThan(1_000);
    const calls = bridge.cluster.stub.calls.length;
    const second = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(second).toMatchObject({ exitCode: 0, clean: true, nothingToDo: true });
    expect(item(second, "Namespace drawbridge")).toMatchObject({
      state: "going",
      detail: "its removal was ordered before and it is terminating",
    });
    expect(bridge.cluster.stub.calls.slice(calls).filter((call) => !call.startsWith("GET "))).toEqual([]);
    expect(receiptMarkdown(second)).toContain(
      "Nothing to do: Namespace drawbridge-bootstrap was ordered to go before and is terminating. Nothing was changed.",
    );
  });

  test("takes webhook configurations that a killed test left, before anything they call", async () => {
    const admission = "/apis/admissionregistration.k8s.io/v1";
    await bridge.up(bare);
    bridge.cluster.put(`${admission}/mutatingwebhookconfigurations/drawbridge-verify-1`, {
      metadata: { labels: label },
    });
    bridge.cluster.put(`${admission}/validatingwebhookconfigurations/of-somebody`, { metadata: { labels: {} } });
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(0);
    expect(item(receipt, "MutatingWebhookConfiguration drawbridge-verify-1")).toMatchObject({ state: "removed" });
    expect(bridge.cluster.stub.calls.find((call) => call.startsWith("DELETE "))).toBe(
      `DELETE ${admission}/mutatingwebhookconfigurations/drawbridge-verify-1`,
    );
    expect([...bridge.cluster.objects.keys()].filter((path) => path.startsWith(admission))).toEqual([
      `${admission}/validatingwebhookconfigurations/of-somebody`,
    ]);
  });

  test("reports everything that went as removed, also files in a directory of the bridge", async () => {
    await bridge.up(bare);
    const receipt = await bridge.teardown();
    expect(item(receipt, "file /etc/drawbridge-bootstrap/egress-selector-config.yaml").state).toBe("removed");
    // Nobody had set the flag.
    const gone = receipt.items.filter(({ openedAt, state }) => openedAt !== undefined && state === "absent");
    expect(gone.map(({ thing }) => thing.type)).toEqual(["setting"]);
  });

  test("reports what it may not remove", async () => {
    await bridge.up(bare);
    bridge.cluster.intercept = ({ method, path }, response) => {
      const refuses = method === "DELETE" && path === namespace;
      if (refuses) response.writeHead(403).end('{"kind":"Status","message":"namespaces is forbidden"}');
      return refuses;
    };
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(3);
    expect(item(receipt, "Namespace")).toMatchObject({ state: "left", detail: /namespaces is forbidden/ });
  });

  test("finds what carries the label but nobody recorded", async () => {
    await bridge.up(bare);
    bridge.cluster.put("/api/v1/namespaces/kube-system/secrets/other", { metadata: { labels: label } });
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(3);
    expect(item(receipt, "Secret kube-system/other")).toMatchObject({ state: "left" });
  });

  test("does not report a clean state when it may not list objects", async () => {
    await bridge.up(bare);
    bridge.cluster.intercept = ({ path }, response) => {
      if (path === "/api/v1/secrets") response.writeHead(403).end('{"kind":"Status","message":"secrets is forbidden"}');
      return path === "/api/v1/secrets";
    };
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(3);
    expect(receipt.warnings.join()).toContain("Whether a Secret of the bridge remains is not known");
  });

  test("refuses a record that is not one", async () => {
    await bridge.up(bare);
    bridge.host.put("/var/lib/drawbridge-bootstrap/bridge.json", "{");
    await expect(bridge.teardown()).rejects.toMatchObject({ code: "DB_BRIDGE_RECORD" });
    const evil = {
      version: 1,
      options: { for: "bare", configDirectory: "/etc" },
      setting: {},
      opened: [],
      kubeconfig: "",
    };
    bridge.host.put("/var/lib/drawbridge-bootstrap/bridge.json", JSON.stringify(evil));
    await expect(bridge.teardown()).rejects.toThrow(/bridge\.json cannot be used: .*name must contain "drawbridge"/);
    expect(bridge.cluster.hasAgents).toBe(true);
  });

  const recordPath = "/var/lib/drawbridge-bootstrap/bridge.json";

  test.each<[string, (real: (path: string) => string) => void]>([
    ["is writable for its group", (real) => chmodSync(real(recordPath), 0o620)],
    ["is writable for everybody", (real) => chmodSync(real(recordPath), 0o606)],
    ["lies in a directory that is writable for everybody", (real) => chmodSync(dirname(real(recordPath)), 0o707)],
    ["lies below a directory that is writable for everybody", (real) => chmodSync(real("/var/lib"), 0o777)],
    [
      "is a symbolic link",
      (real) => {
        renameSync(real(recordPath), real("/var/lib/elsewhere.json"));
        symlinkSync(real("/var/lib/elsewhere.json"), real(recordPath));
      },
    ],
    [
      "lies in a directory that is a symbolic link",
      (real) => {
        renameSync(dirname(real(recordPath)), real("/var/lib/elsewhere"));
        symlinkSync(real("/var/lib/elsewhere"), dirname(real(recordPath)));
      },
    ],
  ])("a record that %s is refused, and nothing is removed", async (_, spoil) => {
    await bridge.up(bare);
    spoil((path) => bridge.host.files.real(path));
    const tree = bridge.host.tree();
    await expect(bridge.teardown()).rejects.toMatchObject({
      code: "DB_RECORD_UNTRUSTED",
      message: expect.stringMatching(/^\/\S+ is not believed: [^.]+\.$/),
    });
    await expect(bridge.status()).rejects.toMatchObject({ code: "DB_RECORD_UNTRUSTED" });
    expect(bridge.host.tree()).toEqual(tree);
    expect(bridge.cluster.hasAgents).toBe(true);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "a record of another user is refused, as is one in such a directory",
    async () => {
      await bridge.up(bare);
      const real = bridge.host.files.real(recordPath);
      for (const path of [real, dirname(real)]) {
        chownSync(path, 12345, 0);
        await expect(bridge.teardown()).rejects.toThrow(/is not believed: it belongs to user 12345/);
        chownSync(path, 0, 0);
      }
      expect((await bridge.teardown()).exitCode).toBe(0);
    },
  );

  test.each<[string, (record: { opened: unknown[]; setting: unknown }) => void]>([
    ["a directory", ({ opened }) => opened.push({ thing: { type: "directory", path: "/home" }, at: "x" })],
    ["a file", ({ opened }) => opened.push({ thing: { type: "file", path: "/etc/passwd" }, at: "x" })],
    [
      "a file below one of its own",
      ({ opened }) =>
        opened.push({ thing: { type: "file", path: "/etc/drawbridge-bootstrap/../../etc/passwd" }, at: "x" }),
    ],
    ["a parent of nothing", ({ opened }) => opened.push({ thing: { type: "parent", path: "/srv" }, at: "x" })],
    [
      "a unit",
      ({ opened }) =>
        opened.push({
          thing: { type: "unit", path: "/etc/systemd/system/sshd.service", name: "sshd.service" },
          at: "x",
        }),
    ],
    ["a process", ({ opened }) => opened.push({ thing: { type: "process", socket: "/run/other.sock" }, at: "x" })],
    ["something unheard of", ({ opened }) => opened.push({ thing: { type: "disk", path: "/dev/sda" }, at: "x" })],
    ["nothing", ({ opened }) => opened.push({ at: "x" })],
    ["a manifest", (record) => Object.assign(record, { setting: { by: "manifest", manifest: "/etc/shadow" } })],
    [
      "a backup",
      (record) =>
        Object.assign(record, {
          setting: {
            by: "manifest",
            manifest: "/etc/kubernetes/manifests/kube-apiserver.yaml",
            edit: { backup: "/etc/shadow" },
          },
        }),
    ],
  ])("a record that names %s which up does not make is refused, and nothing is removed", async (_, spoil) => {
    await bridge.up(bare);
    bridge.host.put("/home/jane/letter", "dear");
    const record = JSON.parse(bridge.host.text(recordPath));
    spoil(record);
    bridge.host.put(recordPath, JSON.stringify(record));
    const tree = bridge.host.tree();
    await expect(bridge.teardown()).rejects.toMatchObject({ code: "DB_RECORD_UNTRUSTED" });
    expect(bridge.host.tree()).toEqual(tree);
    expect(bridge.cluster.hasAgents).toBe(true);
  });

  test.skipIf(process.getuid?.() !== 0)("what lies behind another user's link is not removed", async () => {
    bridge.host.put("/home/jane/dir/.keep", "");
    await bridge.up({ ...bare, configDirectory: "/home/jane/dir/drawbridge-etc" });
    const real = (path: string) => bridge.host.files.real(path);
    renameSync(real("/home/jane/dir"), real("/home/jane/moved"));
    symlinkSync(real("/home/jane/moved"), real("/home/jane/dir"));
    lchownSync(real("/home/jane/dir"), 12345, 12345);
    const receipt = await bridge.teardown();
    expect(receipt.exitCode).toBe(3);
    expect(item(receipt, "directory /home/jane/dir/drawbridge-etc/pki")).toMatchObject({
      state: "left",
      detail: expect.stringContaining("belongs to user 12345"),
    });
    expect(bridge.host.tree().join("\n")).toContain("/home/jane/moved/drawbridge-etc/pki/server.key");
  });

  test("up refuses a state directory that others may write to", async () => {
    bridge.host.put("/srv/x/.keep", "");
    chmodSync(bridge.host.files.real("/srv/x"), 0o777);
    await expect(bridge.up({ ...bare, stateDirectory: "/srv/x/drawbridge" })).rejects.toMatchObject({
      code: "DB_RECORD_UNTRUSTED",
    });
    expect(bridge.cluster.hasAgents).toBe(false);
  });

  test("tells a wrong --kubeconfig, and goes on without a recorded one that is of no use", async () => {
    await bridge.up(bare);
    await expect(bridge.teardown({ kubeconfig: "/broken" })).rejects.toThrow("/broken is broken");
    expect(bridge.cluster.hasAgents).toBe(true);
  });
});

describe("teardown from a workstation", () => {
  const openshift = "/api/v1/namespaces/openshift-bootstrap-konnectivity";
  const apps = "/apis/apps/v1/namespaces";

  beforeEach(async () => {
    bridge = await TestBridge.prepare("openshift");
    bridge.cluster.put("/apis/security.openshift.io", {});
    bridge.cluster.put("/apis/config.openshift.io/v1/infrastructures/cluster", {
      status: { infrastructureName: "demo-x7k2p", platformStatus: { type: "AWS" } },
    });
  });

  test("takes the merged layout and the older one, in order, and names the firewall's rules", async () => {
    bridge.cluster.put(openshift, { metadata: { labels: label } });
    bridge.cluster.put(`${openshift}/secrets/konnectivity-agent-certs`, { metadata: { labels: label } });
    bridge.cluster.put(`${apps}/openshift-bootstrap-konnectivity/daemonsets/konnectivity-agent`, {
      metadata: { labels: label },
    });
    bridge.cluster.put(`${apps}/kube-system/daemonsets/konnectivity-agent`, { metadata: { labels: label } });
    bridge.cluster.put("/api/v1/namespaces/kube-system/secrets/konnectivity-agent-certs", {});
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(receipt).toMatchObject({ exitCode: 0, nothingToDo: false, bridge: { for: "openshift", madeAt: undefined } });
    expect(bridge.cluster.stub.calls.filter((call) => call.startsWith("DELETE "))).toEqual([
      `DELETE ${apps}/openshift-bootstrap-konnectivity/daemonsets/konnectivity-agent`,
      `DELETE ${openshift}/secrets/konnectivity-agent-certs`,
      `DELETE ${openshift}`,
      `DELETE ${apps}/kube-system/daemonsets/konnectivity-agent`,
      "DELETE /api/v1/namespaces/kube-system/secrets/konnectivity-agent-certs",
    ]);
    expect(receipt.others.firewall).toMatchObject({ platform: "aws", rule: { port: 8091 } });
    expect(JSON.stringify(receipt.others)).toContain("demo-x7k2p");
  });

  test("leaves a permanent Konnectivity in kube-system alone", async () => {
    bridge.cluster.put(`${apps}/kube-system/daemonsets/konnectivity-agent`, {});
    bridge.cluster.put("/api/v1/namespaces/kube-system/secrets/konnectivity-agent-certs", {});
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(receipt).toMatchObject({ exitCode: 0, nothingToDo: true });
    expect(bridge.cluster.stub.calls.filter((call) => call.startsWith("DELETE "))).toEqual([]);
    expect(item(receipt, "DaemonSet kube-system").detail).toContain("not the bridge's");
  });

  test.each([
    [
      "a pod of kubeadm's shows it",
      () =>
        bridge.cluster.put("/api/v1/namespaces/kube-system/pods/kube-apiserver-cp", {
          metadata: { labels: { component: "kube-apiserver" } },
          spec: { containers: [{ command: ["kube-apiserver", kubeadmFlag] }] },
        }),
      /kube-apiserver-cp still uses the bridge/,
    ],
    [
      "its metrics show it",
      () => {
        bridge.cluster.metrics = 'apiserver_egress_dialer_dial_start_total{protocol="grpc",transport="uds"} 3\n';
      },
      /sends its calls through a bridge/,
    ],
  ])("stops while a kube-apiserver elsewhere uses the bridge: %s", async (_, prepare, words) => {
    prepare();
    bridge.cluster.put(namespace, { metadata: { labels: label } });
    const receipt = await bridge.teardown({ for: "kubeadm", kubeconfig: "/admin.conf" });
    expect(receipt.exitCode).toBe(1);
    expect(receipt.warnings.join()).toMatch(words);
    expect(bridge.cluster.labelled).toEqual([namespace]);
  });

  test("looks only at the host without a kubeconfig, and says so", async () => {
    const receipt = await bridge.teardown();
    expect(receipt).toMatchObject({ exitCode: 0, nothingToDo: true, apiAnswered: undefined });
    expect(receipt.warnings).toEqual(["Without a kubeconfig nothing was looked for in the cluster."]);
  });

  test("ends with 3 when the API is away", async () => {
    apiIsAway();
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf", for: "openshift", timeoutMs: 10_000 });
    expect(receipt).toMatchObject({ exitCode: 3, apiAnswered: false });
    expect(receipt.others.notes.join()).toContain("its platform is not known");
  });
});

describe("teardown on an OpenShift bootstrap host", () => {
  const assets = "/opt/openshift";
  const files = [
    ...["/etc/kubernetes/manifests/konnectivity-server-pod.yaml", `${assets}/tls/konnectivity/server.key`],
    ...[
      "/etc/kubernetes/bootstrap-configs/egress-selector-config.yaml",
      `${assets}/manifests/konnectivity-agent-certs.yaml`,
    ],
  ];
  const script = "/usr/local/bin/konnectivity.sh";
  const pod = "spec: {containers: [{args: [--uds-name=/etc/kubernetes/bootstrap-configs/konnectivity-server.socket]}]}";

  beforeEach(async () => {
    bridge = await TestBridge.prepare("openshift");
    for (const file of [...files, script]) bridge.host.put(file, file.endsWith("pod.yaml") ? pod : "");
  });
  const present = (): string[] =>
    [...files, script].filter((path) => bridge.host.tree().some((line) => line.startsWith(`${path} `)));

  test("stops before cluster-bootstrap has finished, unless forced", async () => {
    const receipt = await bridge.teardown({ kubeconfig: "/admin.conf" });
    expect(receipt.exitCode).toBe(1);
    expect(receipt.warnings.join()).toMatch(/cluster-bootstrap has not finished.* Wait until bootstrap is complete/);
    expect(receipt.nothingToDo).toBe(false);
    expect(receiptMarkdown(receipt)).toContain("**Stopped.** The kube-apiserver may still use the bridge");
    expect(present()).toHaveLength(5);
    await bridge.teardown({ kubeconfig: "/admin.conf", force: true });
    expect(present()).toEqual([script]);
  });

  test("leaves the scripts that bootkube still reads, and takes them when it is through", async () => {
    bridge.host.put(`${assets}/cb-bootstrap.done`, "");
    expect((await bridge.teardown({ kubeconfig: "/admin.conf" })).exitCode).toBe(0);
    expect(present()).toEqual([script]);
    bridge.host.put(`${assets}/.bootkube.done`, "");
    expect((await bridge.teardown({ kubeconfig: "/admin.conf" })).exitCode).toBe(0);
    expect(present()).toEqual([]);
  });
});
