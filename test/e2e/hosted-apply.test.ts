/**
 * `drawbridge hosted apply`, `diff` and `delete` against two real kube-apiservers, the management cluster's and the
 * hosted one's. The tests are one story: they run in order and build on each other.
 */
import { X509Certificate } from "node:crypto";
import { copyFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HostedReport } from "../../src/cluster/hosted/apply/apply.js";
import type { ObjectOutcome } from "../../src/cluster/kube/apply.js";
import { hosted } from "../support/hosted/command.js";
import { remainsOf } from "../support/hosted/remains.js";
import { installRoutes } from "../support/hosted/routes.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { requireRouteCrd } from "../support/provider-crds/fetch.js";

const NAMESPACE = "clusters-demo";
const route = { type: "Route", hostname: "konnectivity.example.test" };
const ROOT = "root-ca.crt";
const aggregatedApis = [{ name: "packageserver", address: "172.30.10.11", caFile: ROOT }];
const PACKAGES = [
  "Service default/packageserver",
  "EndpointSlice default/packageserver",
  "APIService v1.packages.operators.coreos.com",
];

const crd = (await equipped({ controlPlane: true })) ? await requireRouteCrd() : undefined;

describe.skipIf(crd === undefined)("hosted apply", () => {
  const scopes: Scope[] = [];
  let management: ControlPlane;
  let workers: ControlPlane;
  let config: string;
  let printed = "";

  const describeCluster = (part: object): void => writeFileSync(config, JSON.stringify({ name: "demo", ...part }));
  const command = async (name: string, ...flags: string[]) => {
    const clusters = [`--kubeconfig=${management.adminConfig}`, `--hosted-kubeconfig=${workers.adminConfig}`];
    const answer = await hosted(name, `--config=${config}`, ...clusters, ...flags);
    printed += answer.stdout + answer.stderr;
    return answer;
  };
  const report = async (name: string, ...flags: string[]) => {
    const { status, stdout, stderr } = await command(name, "--output=json", ...flags);
    expect(stderr).toBe("");
    const { objects, issued } = JSON.parse(stdout) as HostedReport;
    const by = (action: ObjectOutcome["action"]) => objects.filter((outcome) => outcome.action === action);
    return { status, objects, issued: issued.map(({ name: leaf }) => leaf), by };
  };
  const isSettled = async () => {
    const { objects } = await report("diff");
    return objects.filter(({ action }) => action !== "unchanged");
  };
  const names = (objects: readonly ObjectOutcome[]) => objects.map(({ object }) => object.replace(`${NAMESPACE}/`, ""));
  const secret = async (plane: ControlPlane, namespace: string, name: string) => {
    const { data } = await plane.admin.json<{ data: Record<string, string> }>(["get", "secret", name, "-n", namespace]);
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
  };
  const leaf = async (name: string) => new X509Certificate((await secret(management, NAMESPACE, name))["tls.crt"]!);
  const remains = (plane: ControlPlane) => remainsOf(plane.admin, NAMESPACE);

  beforeAll(async () => {
    scopes.push(new Scope("management"), new Scope("hosted"));
    [management, workers] = (await Promise.all(scopes.map((scope) => startOnLoopback(scope)))) as [
      ControlPlane,
      ControlPlane,
    ];
    config = scopes[0]!.file("hosted.json");
    copyFileSync(workers.ca.cert, scopes[0]!.file(ROOT));
  });
  afterAll(() => Promise.all(scopes.map((scope) => scope.close())));

  test("apply without the namespace says how to make it", async () => {
    describeCluster({ publishing: route, aggregatedApis });
    const { status, stderr } = await command("apply");
    expect(status).toBe(1);
    expect(stderr).toContain(`make it with kubectl create namespace ${NAMESPACE}`);
    await management.admin.run(["create", "namespace", NAMESPACE]);
  });

  test("diff before the first apply shows all of it and changes nothing", async () => {
    const { status, by } = await report("diff");
    expect(status).toBe(3);
    expect(names(by("created"))).toContain("Secret konnectivity-server-signer");
    expect(await remains(management)).toBe("");
    expect(await remains(workers)).toBe("");
  });

  test("makes everything on both sides, and says clearly that Routes do not exist here", async () => {
    const { status, by, issued } = await report("apply");
    expect(status).toBe(0);
    expect(by("skipped")).toEqual([
      expect.objectContaining({
        object: `Route ${NAMESPACE}/konnectivity-server`,
        why: expect.stringContaining("no API route.openshift.io/v1: publish by NodePort or LoadBalancer"),
      }),
    ]);
    expect(names(by("created"))).toEqual(
      expect.arrayContaining([
        "Deployment konnectivity-agent",
        "DaemonSet kube-system/konnectivity-agent",
        ...PACKAGES,
      ]),
    );
    // They close every port that they do not name, so they come when all else is there; first the one for agents outside.
    expect(names(by("created")).slice(-2)).toEqual([
      "NetworkPolicy route-konnectivity-kas",
      "NetworkPolicy konnectivity-server",
    ]);
    expect(issued).toHaveLength(9);
  });

  test("a second time there is nothing to do, and diff is empty", async () => {
    const before = await management.admin.run([
      "get",
      "secrets",
      "-n",
      NAMESPACE,
      "-ojsonpath={.items[*].metadata.resourceVersion}",
    ]);
    const { objects, issued } = await report("apply");
    expect(new Set(objects.map(({ action }) => action))).toEqual(new Set(["unchanged", "skipped"]));
    expect(issued).toEqual([]);
    const diff = await command("diff");
    expect(diff).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^skipped .*\n1 skipped, \d+ unchanged\n$/),
    });
    const after = await management.admin.run([
      "get",
      "secrets",
      "-n",
      NAMESPACE,
      "-ojsonpath={.items[*].metadata.resourceVersion}",
    ]);
    expect(after).toBe(before);
  });

  test("signers and their keys are in the management cluster only, and workers have the agents' certificate only", async () => {
    const list = await workers.admin.run(["get", "secrets", "-A", "-oname"]);
    expect(list.trim()).toBe("secret/konnectivity-agent");
    const [here, there] = [
      await secret(management, NAMESPACE, "konnectivity-agent"),
      await secret(workers, "kube-system", "konnectivity-agent"),
    ];
    expect(there).toEqual(here);
    const signer = new X509Certificate((await secret(management, NAMESPACE, "konnectivity-agent-signer"))["ca.crt"]!);
    expect((await leaf("konnectivity-agent")).verify(signer.publicKey)).toBe(true);
    expect((await leaf("konnectivity-control-plane-agent")).verify(signer.publicKey)).toBe(false);
  });

  test("the real Route is made once the cluster has the kind", async () => {
    await installRoutes(management.admin, crd!);
    expect(names((await report("apply")).by("created"))).toEqual(["Route konnectivity-server"]);
    expect(await isSettled()).toEqual([]);
  });

  test("a change is shown by diff, field by field, before apply makes it", async () => {
    describeCluster({ publishing: route, aggregatedApis: [{ ...aggregatedApis[0], address: "172.30.10.12" }] });
    const { status, by } = await report("diff");
    expect(status).toBe(3);
    const [claims, deployment] = ["ConfigMap konnectivity-agent-claims", "Deployment konnectivity-agent"];
    // Where the API is, who may claim it and who does change together.
    const changed = [claims, deployment, "EndpointSlice default/packageserver"];
    expect(names(by("changed"))).toEqual(changed);
    const [change] = by("changed")[1]!.changes!;
    expect(change).toMatchObject({
      path: expect.stringMatching(/^spec\.template\.spec\.containers\.0\.args\.\d+$/),
      before: "--agent-identifiers=ipv4=172.30.10.11",
      after: "--agent-identifiers=ipv4=172.30.10.12",
    });
    const text = await command("diff");
    expect(text.stdout).toContain("changed    management  Deployment clusters-demo/konnectivity-agent\n");
    expect(names((await report("apply")).by("changed"))).toEqual(changed);
    expect(await isSettled()).toEqual([]);
  });

  test("apply prunes objects that are no longer described, and no others", async () => {
    const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "others", namespace: NAMESPACE } };
    await management.admin.apply(other);
    describeCluster({ publishing: { type: "NodePort", address: "192.0.2.7", port: 30_091 } });
    expect(names((await report("diff")).by("deleted"))).toContain("Route konnectivity-server");
    const { by, issued } = await report("apply");
    expect(names(by("deleted")).toSorted()).toEqual([
      "APIService v1.packages.operators.coreos.com",
      "Deployment konnectivity-agent",
      "EndpointSlice default/packageserver",
      "NetworkPolicy route-konnectivity-kas",
      "Route konnectivity-server",
      "Service default/packageserver",
      "ServiceAccount konnectivity-agent",
    ]);
    await workers.admin.run(["get", "service", "kubernetes", "-n", "default"]);
    expect(names(by("created"))).toEqual(["NetworkPolicy nodeport-konnectivity-kas"]);
    // 14: its names changed, so the agents' listener gets another certificate; nobody else does.
    expect(issued).toEqual(["konnectivity-cluster"]);
    expect((await leaf("konnectivity-cluster")).subjectAltName).toContain("IP Address:192.0.2.7");
    await management.admin.run(["get", "configmap", "others", "-n", NAMESPACE]);
    expect(await isSettled()).toEqual([]);
  });

  test("14: a lost leaf, and one whose signer was replaced, are issued again, for both sides", async () => {
    await management.admin.run(["delete", "secret", "konnectivity-client", "-n", NAMESPACE]);
    expect((await report("apply")).issued).toEqual(["konnectivity-client"]);
    const before = await leaf("konnectivity-agent");
    // As after a restore: the signer is another one, the leaf is still there and looks good.
    await management.admin.run(["delete", "secret", "konnectivity-agent-signer", "-n", NAMESPACE]);
    expect((await report("apply")).issued).toEqual(["konnectivity-agent-signer", "konnectivity-agent"]);
    const after = await leaf("konnectivity-agent");
    expect(after.serialNumber).not.toBe(before.serialNumber);
    const copy = new X509Certificate((await secret(workers, "kube-system", "konnectivity-agent"))["tls.crt"]!);
    expect(copy.serialNumber).toBe(after.serialNumber);
  });

  test("signers are rotated step by step: trusted first, then signing, then alone", async () => {
    const trusted = async () => {
      const args = ["get", "configmap", "konnectivity-ca-bundle", "-n", "kube-system", "-ojsonpath={.data.ca\\.crt}"];
      return (await workers.admin.run(args)).split("BEGIN").length - 1;
    };
    const before = await leaf("konnectivity-cluster");
    await report("apply", "--rotate-signers=introduce");
    expect([await trusted(), (await leaf("konnectivity-cluster")).serialNumber]).toEqual([2, before.serialNumber]);
    expect((await report("apply", "--rotate-signers=switch")).issued).toHaveLength(9);
    expect(await trusted()).toBe(2);
    expect((await leaf("konnectivity-cluster")).serialNumber).not.toBe(before.serialNumber);
    await report("apply", "--rotate-signers=retire");
    expect(await trusted()).toBe(1);
    expect(await isSettled()).toEqual([]);
  });

  test("a balancer's address is waited for and taken from its Service", async () => {
    describeCluster({ publishing: { type: "LoadBalancer" } });
    const early = await command("apply", "--wait=0s");
    expect(early.status).toBe(1);
    expect(early.stderr).toContain("DB_HOSTED_ADDRESS");
    const assigned = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip: "192.0.2.99" }] } } });
    const patch = ["patch", "service", "konnectivity-server", "-n", NAMESPACE, "--subresource=status", "-p", assigned];
    const assign = until("the Service", 20_000, async () => (await management.admin.try(patch)).code === 0);
    const { issued } = await report("apply", "--wait=30s");
    await assign;
    expect(issued).toEqual(["konnectivity-cluster"]);
    const args = await workers.admin.run([
      "get",
      "daemonset",
      "konnectivity-agent",
      "-n",
      "kube-system",
      "-ojsonpath={..args}",
    ]);
    expect(args).toContain("--proxy-server-host=192.0.2.99");
    expect(await isSettled()).toEqual([]);
  });

  test("another manager's fields are left alone until told otherwise", async () => {
    const theirs = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "konnectivity-agent-claims", namespace: NAMESPACE },
      data: { "claims.yaml": "rules: []\n" },
    };
    const apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=somebody", "-f", "-"];
    await management.admin.run(apply, JSON.stringify(theirs));
    const refused = await command("apply");
    expect(refused.status).toBe(1);
    expect(refused.stderr).toMatch(
      /ConfigMap clusters-demo\/konnectivity-agent-claims was refused: .*somebody.*--force-conflicts.*DB_OBJECT_REFUSED/s,
    );
    expect(names((await report("apply", "--force-conflicts")).by("changed"))).toEqual([
      "ConfigMap konnectivity-agent-claims",
    ]);
  });

  const apiServer = (...names: string[]): object => {
    const labels = { app: "kube-apiserver" };
    const containers = names.map((name) => ({ name, image: "registry.example/x:1", args: ["--keep=me"] }));
    const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } };
    return {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "kube-apiserver", namespace: NAMESPACE },
      spec,
    };
  };
  const containersOf = async () => {
    const words = (list: string) => `{range .spec.template.spec.${list}[*]}${list} {.name} {.args[0]}{'\\n'}{end}`;
    const path = `-ojsonpath=${words("containers")}${words("initContainers")}`;
    const lines = await management.admin.run(["get", "deployment", "kube-apiserver", "-n", NAMESPACE, path]);
    return lines.trim().split("\n").toSorted();
  };

  test("the kube-apiserver's Deployment gets its server when asked, keeps the rest, and gets it back", async () => {
    describeCluster({ publishing: { type: "LoadBalancer", address: "192.0.2.99" } });
    const absent = await command("apply", "--patch-kube-apiserver");
    expect(absent).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("There is no Deployment clusters-demo/kube-apiserver"),
    });
    await management.admin.apply(apiServer("kube-apiserver"));
    const { by } = await report("apply", "--patch-kube-apiserver");
    expect(names(by("changed"))).toEqual(["Deployment kube-apiserver"]);
    expect(await containersOf()).toEqual([
      "containers kube-apiserver --keep=me",
      "initContainers konnectivity-server --logtostderr=true",
    ]);
    // From now on it is kept up to date like the rest.
    const again = (await report("apply")).objects.filter(({ object }) => object.endsWith("/kube-apiserver"));
    expect(again).toMatchObject([{ action: "unchanged" }]);
    // Its owner goes on applying what it knows.
    await management.admin.apply(apiServer("kube-apiserver"));
    expect(await containersOf()).toHaveLength(2);
    expect(names((await report("delete")).by("released"))).toEqual([
      "Deployment kube-apiserver",
      "Namespace kube-system",
    ]);
    expect(await containersOf()).toEqual(["containers kube-apiserver --keep=me"]);
    expect([await remains(management), await remains(workers)]).toEqual(["", ""]);
    expect((await report("apply")).issued).toHaveLength(9);
  });

  test("delete refuses while a server that others put there needs the Secrets, then leaves nothing of ours", async () => {
    describeCluster({ publishing: { type: "LoadBalancer", address: "192.0.2.99" }, aggregatedApis });
    expect(names((await report("apply")).by("created"))).toEqual(expect.arrayContaining(PACKAGES));
    await management.admin.apply(apiServer("kube-apiserver", "konnectivity-server"));
    const refused = await command("delete");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("DB_HOSTED_IN_USE") });
    expect(await remains(management)).not.toBe("");
    await management.admin.apply(apiServer("kube-apiserver"));
    const { status, by } = await report("delete");
    expect(status).toBe(0);
    expect(by("deleted").length).toBeGreaterThan(15);
    expect(names(by("deleted"))).toEqual(expect.arrayContaining(PACKAGES));
    expect([await remains(management), await remains(workers)]).toEqual(["", ""]);
    const kubeSystem = await workers.admin.json<{ metadata: { labels: Record<string, string> } }>([
      ...["get", "namespace", "kube-system"],
    ]);
    expect(Object.keys(kubeSystem.metadata.labels)).toEqual(["kubernetes.io/metadata.name"]);
    await management.admin.run(["get", "configmap", "others", "-n", NAMESPACE]);
    expect((await report("delete")).by("deleted")).toEqual([]);
  });

  test("no key was ever printed", () => {
    expect(printed.length).toBeGreaterThan(1000);
    expect(printed).not.toMatch(/PRIVATE KEY|LS0tLS1CRUdJTi/);
  });
});
