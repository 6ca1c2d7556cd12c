/** Pools on a real kube-apiserver, without HyperShift: installed, reconciled, changed, paused, deleted. */
import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { createKubeApi } from "../../src/cluster/kube/client.js";
import { isNotFound } from "../../src/cluster/kube/errors.js";
import { kubeconfigEndpoint } from "../../src/cluster/kube/kubeconfig/endpoint.js";
import { collectionPath, namedPath } from "../../src/cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../src/cluster/kube/port.js";
import { CRD_PATH, OWNER_LABEL } from "../../src/cluster/nodes/controller/hypershift.js";
import { readCredential, tryCredential } from "../../src/cluster/nodes/credential/credential.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import {
  annotation,
  BOOTSTRAP_SECRET,
  type ConfigMap,
  encoded,
  IGNITION_CA_SECRET,
  SERVING_CERTIFICATE_SECRET,
  type Secret,
  secretText,
} from "../../src/cluster/nodes/objects.js";
import { CONTROLLER_NAME } from "../../src/cluster/nodes/permissions.js";
import type { NodePool } from "../../src/cluster/nodes/pool/node-pool.js";
import { readUserData } from "../../src/cluster/nodes/token/user-data.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { LabProcess } from "../support/lab/process.js";
import { run } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { until } from "../support/lab/wait.js";
import { ours } from "../support/processes/executables.js";
import { complaintWithout, isMissed, rights } from "./nodepool-permissions.js";
import { titleOf } from "./rights.js";

const SOON = 60_000;
const NAMESPACE = "drawbridge";
const DRAWBRIDGE = ours("drawbridge");

const machineConfig = (name: string) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: ${name}}
spec: {config: {ignition: {version: 3.2.0}}}
`;

const demo: ConfigMap = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "demo", namespace: NAMESPACE, labels: { "drawbridge/cluster": "true" } },
  data: {
    apiServer: "https://api.example:6443",
    ignitionEndpoint: "ignition.example",
    ignitionCA: "PEM\n",
    version: "4.18.0",
    pullSecret: "pull-secret",
  },
};

const pool = (name: string): NodePool => ({
  apiVersion: "hypershift.openshift.io/v1beta1",
  kind: "NodePool",
  metadata: { name, namespace: NAMESPACE },
  spec: {
    clusterName: "demo",
    release: { image: "registry.example/release:4.18.0" },
    platform: { type: "None" },
    management: { upgradeType: "InPlace" },
    config: [{ name: `${name}-config` }],
  },
});

const configOf = (name: string, content: string): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: `${name}-config`, namespace: NAMESPACE },
  data: { config: machineConfig(content) },
});

const pullSecret: Secret = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "pull-secret", namespace: NAMESPACE },
  data: { ".dockerconfigjson": Buffer.from("{}").toString("base64") },
};

const ready = await equipped({ controlPlane: true });

describe.skipIf(!ready)("pools without HyperShift", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let admin: KubeApi;
  let access: string;
  let replicas: LabProcess[];

  beforeAll(async () => {
    scope = new Scope("nodepool");
    // As on OpenShift: who sets an owner needs a right for it.
    plane = await startOnLoopback(scope, undefined, { admissionPlugins: ["OwnerReferencesPermissionEnforcement"] });
    admin = createKubeApi(await kubeconfigEndpoint(plane.adminConfig), { qps: -1 });
    access = plane.kubeconfig(`system:serviceaccount:${NAMESPACE}:${CONTROLLER_NAME}`);
  });

  afterAll(async () => {
    admin?.close();
    await scope?.close();
  });

  const drawbridge = (...args: string[]) => run([DRAWBRIDGE, ...args]);

  function start(name: string): LabProcess {
    const flags = [`--kubeconfig=${access}`, `--namespace=${NAMESPACE}`, "--issue-certificate"];
    flags.push("--issue-bootstrap-kubeconfig");
    return LabProcess.start(scope, { name, command: [DRAWBRIDGE, "nodepool", "controller", ...flags] });
  }

  async function apply(...objects: readonly object[]) {
    const file = scope.file("objects.yaml");
    writeFileSync(file, objects.map((object) => stringify(object)).join("---\n"));
    return drawbridge("nodepool", "apply", "-f", file, `--kubeconfig=${plane.adminConfig}`);
  }

  const get = (name: string): Promise<NodePool> => admin.get(namedPath("NodePool", { namespace: NAMESPACE, name }));

  async function secrets(prefix: string): Promise<Secret[]> {
    const { items } = await admin.list<Secret>(collectionPath("Secret", NAMESPACE));
    return items.filter(({ metadata }) => metadata?.name?.startsWith(prefix));
  }

  async function change(name: string, spec: NodePool["spec"]): Promise<void> {
    await admin.apply(namedPath("NodePool", { namespace: NAMESPACE, name }), { ...pool(name), spec } as NodePool, {
      fieldManager: "drawbridge-cli",
    });
  }

  function condition({ status }: NodePool, type: string): string | undefined {
    const found = status?.conditions?.find((each) => each.type === type);
    return found && `${found.status} ${found.reason}`;
  }

  const hashOf = ({ metadata }: NodePool) => metadata?.annotations?.[annotation.currentConfigVersion] ?? "";

  async function settled(name: string, otherThan = ""): Promise<NodePool> {
    let last: NodePool | undefined;
    await until(`pool ${name} is at rest`, SOON, async () => {
      last = await get(name);
      return !["", otherThan].includes(hashOf(last)) && condition(last, "UpdatingConfig") === "False AsExpected";
    });
    return last!;
  }

  /** Lines about objects with one of these outcomes. */
  const linesOf = (text: string, ...outcomes: string[]): string[] =>
    text.split("\n").filter((line) => outcomes.some((outcome) => line.startsWith(`${outcome} `)));

  test("install brings everything, and nothing the second time", async () => {
    const flags = ["nodepool", "install", "--image=registry.example/drawbridge:1"];
    const printed = await drawbridge(...flags, "--output=yaml");
    const objects = parseAllDocuments(printed.stdout).map((document) => document.toJS() as KubeObject);
    const first = await drawbridge(...flags, `--kubeconfig=${plane.adminConfig}`);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(linesOf(first.stdout, "created").length).toBe(objects.length);
    await until("the resource is served", SOON, async () => {
      try {
        await admin.list(collectionPath("NodePool", NAMESPACE));
        return true;
      } catch (reason) {
        if (isNotFound(reason)) return false;
        throw reason;
      }
    });
    const second = await drawbridge(...flags, `--kubeconfig=${plane.adminConfig}`);
    expect(second).toMatchObject({ code: 0, stderr: "" });
    expect(linesOf(second.stdout, "created", "changed")).toEqual([]);
  });

  test("the schema refuses what the controller would have to complain about", async () => {
    const create = (spec: object) =>
      admin.create(collectionPath("NodePool", NAMESPACE), {
        ...pool("bad"),
        spec: { ...pool("bad").spec, ...spec },
      } as NodePool);
    for (const spec of [
      { arch: "riscv" },
      { platform: { type: "AWS" } },
      { management: { upgradeType: "Replace", inPlace: { maxUnavailable: 1 } } },
      { replicas: 1, autoScaling: { min: 1, max: 2 } },
      { replicas: -1 },
      { config: Array.from({ length: 11 }, (_, i) => ({ name: `c${i}` })) },
    ]) {
      await expect(create(spec), JSON.stringify(spec)).rejects.toMatchObject({ status: 422 });
    }
  });

  test("the schema completes Replace alone by HyperShift's rolling update", async () => {
    const made = await admin.create(collectionPath("NodePool", NAMESPACE), {
      ...pool("replaced"),
      spec: { ...pool("replaced").spec, management: { upgradeType: "Replace" } },
    } as NodePool);
    expect(made.spec?.management?.replace).toEqual({
      ...{ strategy: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    await admin.delete(namedPath("NodePool", { namespace: NAMESPACE, name: "replaced" }));
  });

  test("two replicas make the Secrets of a pool once", async () => {
    replicas = [start("controller-a"), start("controller-b")];
    expect(await apply(pool("workers"), configOf("workers", "one"), demo, pullSecret)).toMatchObject({ code: 0 });
    const made = await settled("workers");
    expect(made.status?.version).toBe("4.18.0");
    expect(made.spec?.arch).toBe("amd64");
    const [token, ...more] = await secrets("token-workers-");
    const [userData] = await secrets("user-data-workers-");
    expect(more).toEqual([]);
    expect(token?.metadata?.name).toBe(`token-workers-${hashOf(made)}`);
    expect(readUserData(userData!)).toContain(`Bearer ${token?.data?.token}`);
    const status = await drawbridge("nodepool", "status", "workers", `--kubeconfig=${plane.adminConfig}`);
    expect(status).toMatchObject({ code: 0 });
    expect(status.stdout).toContain(`User data is in the Secret user-data-workers-${hashOf(made)}.`);
  });

  test("a change of the configuration ends the old token in two hours, once, and replaces the user data", async () => {
    const before = hashOf(await get("workers"));
    await apply(configOf("workers", "two"));
    const after = hashOf(await settled("workers", before));
    const [old] = await secrets(`token-workers-${before}`);
    const end = old?.metadata?.annotations?.[annotation.tokenExpires];
    expect(Math.abs(Date.parse(end ?? "") - Date.now() - 2 * 60 * 60_000)).toBeLessThan(60_000);
    const names = (await secrets("user-data-workers-")).map(({ metadata }) => metadata?.name);
    expect(names).toEqual([`user-data-workers-${after}`]);
    await apply(configOf("workers", "three"));
    await settled("workers", after);
    const [still] = await secrets(`token-workers-${before}`);
    expect(still?.metadata?.annotations?.[annotation.tokenExpires]).toBe(end);
  });

  test("the Ignition server's certificate follows the published address, and user data its authority", async () => {
    const { ignitionCA: _, ...data } = demo.data ?? {};
    const at = (name: string) => admin.get<Secret>(namedPath("Secret", { namespace: NAMESPACE, name }));
    const names = async () => {
      const secret = await at(SERVING_CERTIFICATE_SECRET).catch(() => ({}));
      const pem = secretText(secret, "tls.crt");
      return pem === undefined ? "" : new X509Certificate(pem).subjectAltName;
    };
    // Whoever brings an authority brings a certificate, too.
    expect(await names()).toBe("");
    const published = (ignitionEndpoint: string) =>
      admin.update(namedPath("ConfigMap", { namespace: NAMESPACE, name: "demo" }), {
        ...demo,
        data: { ...data, ignitionEndpoint },
      } as ConfigMap);
    await published("ignition.example:22624");
    await until("the certificate", SOON, async () => (await names()) === "DNS:ignition.example");
    await published("10.0.0.5:30080");
    await until("the other certificate", SOON, async () => (await names()) === "IP Address:10.0.0.5");
    const authority = secretText(await at(IGNITION_CA_SECRET), "tls.crt") ?? "";
    await until("user data with both", SOON, async () => {
      const [userData] = await secrets("user-data-workers-");
      const text = readUserData(userData!);
      return text.includes("https://10.0.0.5:30080/ignition") && text.includes(encoded(authority));
    });
    expect((await at(SERVING_CERTIFICATE_SECRET)).type).toBe("kubernetes.io/tls");
  });

  test("the kubeconfig that machines join with is made of the cluster and a token that the API server accepts", async () => {
    const find = () => admin.get<Secret>(namedPath("Secret", { namespace: NAMESPACE, name: BOOTSTRAP_SECRET }));
    const cluster = namedPath("ConfigMap", { namespace: NAMESPACE, name: "demo" });
    const publish = async (apiServer: string) => {
      const map = await admin.get<ConfigMap>(cluster);
      const data = { ...map.data, apiServer, apiServerCA: readFileSync(plane.ca.cert, "utf8") };
      await admin.update(cluster, { ...map, data } as ConfigMap);
      return until("the kubeconfig", SOON, async () => {
        const credential = await find().then(readCredential, () => undefined);
        return credential?.server === apiServer && credential;
      });
    };
    const first = await publish(plane.api.url);
    const life = (first.life?.until ?? 0) - (first.life?.from ?? 0);
    expect(life).toBe(7 * 24 * 60 * 60_000);
    expect(await tryCredential(first)).toEqual({
      outcome: "accepted",
      identity: { username: defaultPolicy.bootstrapUser, groups: expect.any(Array) },
      mayRequest: true,
    });
    const second = await publish(plane.api.url.replace("127.0.0.1", "localhost"));
    expect(await tryCredential(second)).toMatchObject({ outcome: "accepted" });
    // Machines that boot with the former one still join.
    expect(await tryCredential(first)).toMatchObject({ outcome: "accepted" });
  });

  test("a failure is an event of the pool, once", async () => {
    const lost = { ...pool("lost"), spec: { ...pool("lost").spec, clusterName: "nobody" } };
    await apply(lost);
    const events = async () => {
      const { items } = await admin.list<KubeObject & { reason: string; message: string; involvedObject: object }>(
        `/api/v1/namespaces/${NAMESPACE}/events`,
      );
      return items.filter(({ reason }) => reason === "ReconcileError");
    };
    await until("the event", SOON, async () => (await events()).length > 0);
    expect(await events()).toMatchObject([
      { message: "the cluster nobody does not exist", involvedObject: { kind: "NodePool", name: "lost" } },
    ]);
    await admin.delete(namedPath("NodePool", { namespace: NAMESPACE, name: "lost" }));
  });

  test("a paused pool stays as it is until the pause ends", async () => {
    const before = hashOf(await get("workers"));
    await change("workers", { ...pool("workers").spec, pausedUntil: "true" });
    await until("it says that it is paused", SOON, async () => {
      return condition(await get("workers"), "ReconciliationActive") === "False ReconciliationPaused";
    });
    await apply(configOf("workers", "four"));
    await until("it saw the change", SOON, async () => {
      return condition(await get("workers"), "UpdatingConfig") === "True AsExpected";
    });
    expect(hashOf(await get("workers"))).toBe(before);
    await change("workers", pool("workers").spec);
    await settled("workers", before);
  });

  test("the other replica goes on when the leader ends", async () => {
    await until("one of the two leads", SOON, () => replicas.filter(leads).length === 1);
    const [leader, other] = leads(replicas[0]!) ? replicas : [...replicas].reverse();
    await leader!.stop();
    await apply(pool("second"), configOf("second", "one"));
    await settled("second");
    expect(leads(other!)).toBe(true);
  });

  test("a deleted pool leaves nothing, and one whose finalizer was torn off leaves nothing either", async () => {
    await admin.delete(namedPath("NodePool", { namespace: NAMESPACE, name: "workers" }));
    const second = await get("second");
    await admin.update(namedPath("NodePool", { namespace: NAMESPACE, name: "second" }), {
      ...second,
      metadata: { ...second.metadata, finalizers: [] },
    } as NodePool);
    await admin.delete(namedPath("NodePool", { namespace: NAMESPACE, name: "second" }));
    await until("all is gone", SOON, async () => {
      const left = [...(await secrets("token-")), ...(await secrets("user-data-"))];
      const { items } = await admin.list(collectionPath("NodePool", NAMESPACE));
      return left.length + items.length === 0;
    });
    expect((await secrets("pull-secret")).length).toBe(1);
  });

  test("every right that install gives is needed", async () => {
    for (const replica of replicas) await replica.stop();
    const api = createKubeApi(await kubeconfigEndpoint(access), { qps: -1 });
    const fixture = { admin, api, namespace: NAMESPACE, pool, config: configOf };
    try {
      for (const [round, right] of rights.entries()) {
        const complaint = await complaintWithout(fixture, right, round);
        expect(isMissed(complaint, right), `${titleOf(right)}: ${complaint}`).toBe(true);
      }
    } finally {
      api.close();
    }
  });

  test("neither install nor the controller works where the NodePool resource is HyperShift's", async () => {
    const crd = await admin.get<KubeObject>(CRD_PATH);
    const { [OWNER_LABEL]: _, ...labels } = crd.metadata?.labels ?? {};
    await admin.update(CRD_PATH, { ...crd, metadata: { ...crd.metadata, labels } });
    const refused = { code: 1, stderr: expect.stringContaining("DB_NODEPOOL_HYPERSHIFT") };
    const flags = [`--kubeconfig=${plane.adminConfig}`];
    expect(await drawbridge("nodepool", "install", "--image=i", ...flags)).toMatchObject(refused);
    expect(await drawbridge("nodepool", "controller", ...flags)).toMatchObject(refused);
  });

  /** By its own last word on it. */
  function leads(replica: LabProcess): boolean {
    const log = replica.log();
    return log.lastIndexOf("this replica looks after") > log.lastIndexOf("another replica looks after");
  }
});
