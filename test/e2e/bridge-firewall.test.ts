/**
 * F2: the manifests that open 8091 are accepted by a real kube-apiserver against the providers' own definitions, and the
 * rules for hosts do in a real packet filter what the plan says, and leave it as it was.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  awsCluster,
  azureCluster,
  ibmVpcCluster,
  powerVsCluster,
} from "../../src/cluster/bootstrap/firewall/testing/manifests.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { must, type Outcome, run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { addAddress, createNamespace, link, type Namespace } from "../support/netns/index.js";
import { requireProviderCrds } from "../support/provider-crds/fetch.js";

const PROGRAM = fileURLToPath(new URL("../../src/cli/drawbridge.ts", import.meta.url));

const drawbridge = (...args: readonly string[]): Promise<Outcome> =>
  run([process.execPath, "--import", "tsx", PROGRAM, "firewall", ...args]);

const crds = (await equipped({ controlPlane: true })) ? await requireProviderCrds() : undefined;

describe.skipIf(crds === undefined)("F2: patched manifests, judged by a real kube-apiserver", () => {
  let scope: Scope;
  let plane: ControlPlane;

  beforeAll(async () => {
    scope = new Scope("firewall");
    plane = await startOnLoopback(scope);
    const definitions = Object.values(crds ?? {});
    await plane.admin.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "openshift-cluster-api-guests" },
    });
    await plane.admin.apply(...definitions);
    for (const { metadata } of definitions) {
      await plane.admin.run(["wait", "--for=condition=Established", "--timeout=60s", `crd/${metadata.name}`]);
    }
  });
  afterAll(() => scope?.close());

  const dryRun = (text: string): Promise<Outcome> =>
    plane.admin.try(["create", "--dry-run=server", "--validate=strict", "-f", "-"], text);

  function installDir(name: string, file: string, text: string): { dir: string; path: string } {
    const dir = scope.file(name);
    mkdirSync(join(dir, "cluster-api"), { recursive: true });
    const path = join(dir, "cluster-api", file);
    writeFileSync(path, text);
    return { dir, path };
  }

  describe.each([
    ["aws", "02_infra-cluster.yaml", awsCluster(), ["fromPort: 8091", "fromPort: closed"], "sourceSecurityGroupRoles"],
    ["azure", "02_azure-cluster.yaml", azureCluster(), ["source: VirtualNetwork", "source: 7"], "destinationPorts"],
    ["ibmcloud", "01_ibmcloud-cluster.yaml", ibmVpcCluster(), ["maximumPort: 8091", "maximumPort: 70000"], "portRange"],
    ["powervs", "02_powervs-cluster.yaml", powerVsCluster(), ["maximumPort: 8091", "maximumPort: 80"], "remotes"],
  ] as const)("%s", (platform, file, original, [right, wrong], field) => {
    test("is accepted before and after, and is the same file again after remove", async () => {
      const { dir, path } = installDir(platform, file, original);
      expect(await dryRun(original)).toMatchObject({ code: 0, stderr: "" });
      const patched = await drawbridge("patch", "--platform", platform, "--dir", dir, "--output", "json");
      expect(patched).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(patched.stdout)).toMatchObject({ file: path, changed: true });
      const text = readFileSync(path, "utf8");
      const answer = await dryRun(text);
      expect(answer).toMatchObject({ code: 0, stderr: "" });
      expect(answer.stdout).toContain("created (server dry run)");
      expect(await drawbridge("patch", "--platform", platform, "--dir", dir)).toMatchObject({ code: 0 });
      expect(readFileSync(path, "utf8")).toBe(text);
      expect(await drawbridge("remove", "--platform", platform, "--dir", dir)).toMatchObject({ code: 0 });
      expect(readFileSync(path, "utf8")).toBe(original);
    });

    test("would be refused with a wrong value, and with a field the provider does not have", async () => {
      const { dir, path } = installDir(`${platform}-wrong`, file, original);
      await drawbridge("patch", "--platform", platform, "--dir", dir);
      const text = readFileSync(path, "utf8");
      expect(text).toContain(right);
      const value = await dryRun(text.replace(right, wrong));
      expect(value.code).toBe(1);
      const unknown = await dryRun(text.replaceAll(`${field}:`, `${field}Misspelt:`));
      expect(unknown.code).toBe(1);
      expect(unknown.stderr).toContain(`${field}Misspelt`);
    });
  });
});

const hasNamespaces = await equipped({ namespaces: true });
const hasNft = hasNamespaces && (await has("nft", "nftables"));

describe.skipIf(!hasNamespaces)("F2: a host's own packet filter", () => {
  const NODES = ["10.77.0.0/24", "fd00:77::/64"];
  let scope: Scope;
  let host: Namespace;
  let node: Namespace;
  let stranger: Namespace;

  beforeAll(async () => {
    scope = new Scope("filter");
    [host, node, stranger] = [
      await createNamespace("fw-host"),
      await createNamespace("fw-node"),
      await createNamespace("fw-else"),
    ];
    for (const namespace of [host, node, stranger]) scope.defer(() => namespace.destroy());
    await cable(host, "nodes", node, "10.77.0", "fd00:77");
    await cable(host, "others", stranger, "10.78.0", "fd00:78");
    const server = 'require("node:net").createServer((s) => s.end("hello")).listen(8091, "::")';
    const listening = host.exec([process.execPath, "-e", server], { stdio: "ignore" });
    scope.defer(() => void listening.kill("SIGKILL"));
    await until("the server on 8091", 30_000, () => reaches(node, "10.77.0.1"));
  });
  afterAll(() => scope?.close());

  async function cable(a: Namespace, name: string, b: Namespace, four: string, six: string): Promise<void> {
    await link(a, name, b, "eth0");
    for (const [place, device, end] of [
      [a, name, 1],
      [b, "eth0", 2],
    ] as const) {
      await addAddress(place, device, `${four}.${end}/24`);
      await addAddress(place, device, `${six}::${end}/64`);
    }
  }

  const reaches = async (from: Namespace, address: string): Promise<boolean> => {
    const dial = `require("node:net").connect({ port: 8091, host: "${address}", timeout: 1000 }).on("timeout", () => process.exit(3)).on("error", () => process.exit(4)).resume().on("end", () => process.exit(0))`;
    return (await run([process.execPath, "-e", dial], { netns: from.name })).code === 0;
  };
  const everybody = async () => ({
    node4: await reaches(node, "10.77.0.1"),
    node6: await reaches(node, "fd00:77::1"),
    stranger4: await reaches(stranger, "10.78.0.1"),
    stranger6: await reaches(stranger, "fd00:78::1"),
  });
  const nobody = { node4: false, node6: false, stranger4: false, stranger6: false };
  const nodesOnly = { node4: true, node6: true, stranger4: false, stranger6: false };

  async function commands(tool: string): Promise<{ open: string; remove: string }> {
    const networks = NODES.flatMap((network) => ["--machine-network", network]);
    const { stdout } = await drawbridge("plan", "--platform", "host", ...networks, "--output", "json");
    const plan = JSON.parse(stdout) as Record<"open" | "remove", { title: string; text: string }[]>;
    const find = (steps: { title: string; text: string }[]) =>
      steps.find(({ title }) => title.startsWith(tool))?.text ?? "exit 99";
    return { open: find(plan.open), remove: find(plan.remove) };
  }

  const inHost = (script: string) => must(["bash", "-euo", "pipefail", "-c", script], { netns: host.name });

  async function story(tool: string, arrange: string, show: string, tidy: string): Promise<void> {
    await inHost(arrange);
    const before = await inHost(show);
    expect(await everybody()).toEqual(nobody);
    const { open, remove } = await commands(tool);
    await inHost(open);
    const opened = await inHost(show);
    expect(opened.match(/drawbridge-bootstrap/g)?.length).toBeGreaterThanOrEqual(2);
    await until("the nodes, and nobody else, to be let in", 30_000, async () =>
      isDeepStrictEqual(await everybody(), nodesOnly),
    );
    await inHost(open);
    expect(await inHost(show)).toBe(opened);
    await inHost(remove);
    expect(await inHost(show)).toBe(before);
    expect(await everybody()).toEqual(nobody);
    await inHost(remove);
    expect(await inHost(show)).toBe(before);
    await inHost(tidy);
    await until("everybody to be let in again", 30_000, () => reaches(stranger, "10.78.0.1"));
  }

  test("iptables lets the nodes in, and nothing is left of it", async () => {
    const each = (rest: string) => `for t in iptables ip6tables; do $t ${rest}; done`;
    const arrange = `ip6tables -A INPUT -p ipv6-icmp -j ACCEPT; ${each("-P INPUT DROP")}`;
    await story("iptables", arrange, "iptables -S; ip6tables -S", `${each("-P INPUT ACCEPT")}; ${each("-F INPUT")}`);
  });

  test.skipIf(!hasNft)("nftables: also where two tables filter, an accept in one of which is not enough", async () => {
    const arrange = `nft -f - <<'RULES'
table inet filter {
  chain input {
    type filter hook input priority 0; policy drop;
    meta l4proto ipv6-icmp accept
    tcp dport 22 accept
  }
}
table ip strict {
  chain incoming {
    type filter hook input priority 10; policy drop;
  }
  chain elsewhere {
    tcp dport 22 accept
  }
}
RULES`;
    // Handles and counters aside; the order of rules is part of the listing.
    await story(
      "nftables",
      arrange,
      "nft -s list table inet filter; nft -s list table ip strict",
      "nft delete table inet filter; nft delete table ip strict",
    );
  });
});

/** Not among the lab's own tools. */
async function has(program: string, debianPackage: string): Promise<boolean> {
  if ((await run(["sh", "-c", `command -v ${program}`])).code === 0) return true;
  const reason = `${program} missing: install the Debian package ${debianPackage}.`;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(reason);
  process.stderr.write(`skipped: ${reason}\n`);
  return false;
}
