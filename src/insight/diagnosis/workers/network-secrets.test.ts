import { X509Certificate } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, type Kind, namedPath } from "../../../cluster/kube/paths.js";
import type { Pod } from "../../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { type Secret, secretText } from "../../../cluster/nodes/objects.js";
import { IgnitionSource } from "../../../cluster/nodes/simulate/testing/source.js";
import { factsOf } from "../../../tunnel/pki/inspect/facts.js";
import { DAY_MS } from "../../../tunnel/pki/request.js";
import {
  failedMount,
  konnectivitySecret,
  kubeconfigSecret,
  type NetworkDeployment,
  networkDeployment,
  networkPod,
  networkService,
  ovnCertSecret,
  rootCaSecret,
  waitingStatus,
} from "../testing/cluster-network.js";
import { PoolFixture } from "../testing/pool-fixture.js";

const NAMESPACE = "clusters-demo";
const METRICS = "ovn-control-plane-metrics-cert";
const IDENTITY = "network-node-identity-secret";

const source = await IgnitionSource.start();
let fixture: PoolFixture;
beforeEach(async () => {
  fixture = await PoolFixture.open(source);
  fixture.isHosted = true;
});
afterEach(() => fixture.close());

async function make(api: KubeApi, ...objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await api.create(collectionPath(object.kind as Kind, object.metadata?.namespace), object);
  }
}

const waitingPod = (name: NetworkDeployment): Pod => ({
  ...networkPod(name, NAMESPACE),
  status: waitingStatus(name),
});

/** Both Deployments, and all that they mount but the two certificates. */
async function install(): Promise<void> {
  const services = ["ovn-kubernetes-control-plane", "network-node-identity"];
  const ovn = waitingPod("ovnkube-control-plane");
  await make(
    fixture.api,
    ...[networkDeployment("ovnkube-control-plane", NAMESPACE), networkDeployment("network-node-identity", NAMESPACE)],
    ...services.map((name) => networkService(name, NAMESPACE)),
    ...[kubeconfigSecret(NAMESPACE), konnectivitySecret(NAMESPACE), ovn, waitingPod("network-node-identity")],
    failedMount(ovn, METRICS, METRICS),
  );
}

const secret = (name: string) => find<Secret>(fixture.api, namedPath("Secret", { namespace: NAMESPACE, name }));
const findings = async () => (await fixture.findings()).filter(({ check }) => check === "ovn-certificate");
const about = async (name: string) => (await findings()).find(({ message }) => message.includes(`/${name} is missing`));

function certificateOf(made: Secret | undefined): X509Certificate {
  return new X509Certificate(secretText(made!, "tls.crt")!);
}

describe("Secrets that the cluster network mounts beside the control plane", () => {
  test("are issued from root-ca with HyperShift's subject, names, usages and lifetime", async () => {
    const authority = await rootCaSecret(NAMESPACE);
    await install();
    await make(fixture.api, authority, ovnCertSecret(NAMESPACE));
    expect((await findings()).map(({ code, state }) => [code, state])).toEqual([
      ["DB_NODE_OVN_CERT", "failed"],
      ["DB_NODE_OVN_CERT", "failed"],
    ]);
    for (const [name, service] of [
      [METRICS, "ovn-kubernetes-control-plane"],
      [IDENTITY, "network-node-identity"],
    ] as const) {
      const finding = await about(name);
      expect(finding?.fix?.what).toContain("issue its certificate from the Secret clusters-demo/root-ca");
      expect(await finding?.fix?.apply()).toContain(`the Secret ${NAMESPACE}/${name} is there now`);
      const made = await secret(name);
      expect([made?.type, Object.keys(made?.data ?? {}).sort()]).toEqual([
        "kubernetes.io/tls",
        ["ca.crt", "tls.crt", "tls.key"],
      ]);
      expect(made?.data?.["ca.crt"]).toBe(authority.data?.["ca.crt"]);
      expect(secretText(made!, "tls.key")).toMatch(/^-----BEGIN RSA PRIVATE KEY-----/);
      const certificate = certificateOf(made);
      expect(certificate.subject).toBe(`O=openshift\nCN=${service}`);
      expect(certificate.subjectAltName).toBe(
        `DNS:${service}.clusters-demo.svc, DNS:${service}.clusters-demo.svc.cluster.local, DNS:${service}, DNS:localhost`,
      );
      expect(certificate.verify(new X509Certificate(secretText(authority, "ca.crt")!).publicKey)).toBe(true);
      expect([...(certificate.keyUsage ?? [])].sort()).toEqual(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]);
      const { notAfter, notBefore } = factsOf(certificate);
      expect(notAfter.getTime() - notBefore.getTime()).toBe(365 * DAY_MS);
    }
    expect((await findings()).map(({ state }) => state)).toEqual(["ok"]);
  });

  test("have the pods' own events as evidence, and the pods that waited are deleted so that they start at once", async () => {
    await install();
    await make(fixture.api, await rootCaSecret(NAMESPACE));
    const finding = await about(METRICS);
    const pod = "clusters-demo/ovnkube-control-plane-6f7c9d5b8f-x2x9k";
    expect(finding?.message).toContain("so ovnkube-control-plane of demo does not start");
    expect(finding?.evidence).toEqual([
      "management cluster: Deployment clusters-demo/ovnkube-control-plane mounts it",
      `pod ${pod}: FailedMount (14 times): MountVolume.SetUp failed for volume "${METRICS}" : secret "${METRICS}" not found`,
    ]);
    expect(await finding?.fix?.apply()).toContain(`deleted to be made again: ${pod}`);
    const { items } = await fixture.api.list<Pod>(collectionPath("Pod", NAMESPACE));
    expect(items.map(({ metadata }) => metadata?.labels?.app)).toEqual(["network-node-identity"]);
    expect(await finding?.fix?.apply()).toBe(`the Secret ${NAMESPACE}/${METRICS} was there already`);
  });

  test.each([
    ["the control plane's namespace", NAMESPACE, "copy the Secret ovn-cert of clusters-demo of the management cluster"],
    [
      "the hosted cluster",
      "openshift-ovn-kubernetes",
      "copy the Secret ovn-cert of openshift-ovn-kubernetes of the hosted",
    ],
  ])(
    "are, without root-ca, a copy of ovn-cert from %s, without what belongs to its controllers",
    async (_, at, how) => {
      await install();
      const original = ovnCertSecret(at);
      await make(at === NAMESPACE ? fixture.api : fixture.hosted, original);
      const finding = await about(METRICS);
      expect(finding?.fix?.what).toContain(how);
      await finding?.fix?.apply();
      const made = await secret(METRICS);
      expect([made?.data, made?.type, made?.metadata?.annotations]).toEqual([original.data, original.type, undefined]);
    },
  );

  test("are never a copy for another name where the hosted API server verifies it", async () => {
    await install();
    await make(fixture.api, ovnCertSecret(NAMESPACE));
    const finding = await about(IDENTITY);
    expect([finding?.state, finding?.fix]).toEqual(["failed", undefined]);
    expect(finding?.remedy).toContain("There is no Secret clusters-demo/root-ca to issue it from");
  });

  test("are left to OpenShift's service-ca where the Service asks for one that is verified", async () => {
    await install();
    await make(fixture.api, await rootCaSecret(NAMESPACE));
    for (const [service, name] of [
      ["network-node-identity", IDENTITY],
      ["ovn-kubernetes-control-plane", METRICS],
    ] as const) {
      const path = namedPath("Service", { namespace: NAMESPACE, name: service });
      const { metadata } = await fixture.api.get(path);
      const asking = networkService(service, NAMESPACE, name);
      await fixture.api.update(path, { ...asking, metadata: { ...metadata, ...asking.metadata } });
    }
    const identity = await about(IDENTITY);
    expect([identity?.fix, identity?.remedy]).toEqual([
      undefined,
      expect.stringContaining("service-ca does not make it"),
    ]);
    const metrics = await about(METRICS);
    expect(metrics?.evidence).toContain(
      "Service clusters-demo/ovn-kubernetes-control-plane asks OpenShift's service-ca for it",
    );
    expect(metrics?.fix).toBeDefined();
  });

  test("get half a minute after the Deployment in which their own makers may make them", async () => {
    await install();
    await make(fixture.api, await rootCaSecret(NAMESPACE));
    const path = namedPath("Deployment", { namespace: NAMESPACE, name: "ovnkube-control-plane" });
    const deployment = await fixture.api.get(path);
    const creationTimestamp = new Date(Date.now() - 15_000).toISOString();
    await fixture.api.update(path, {
      ...deployment,
      metadata: { ...deployment.metadata, creationTimestamp } as object,
    });
    const young = await about(METRICS);
    expect([young?.state, young?.fix, young?.remedy]).toEqual(["warning", undefined, expect.stringContaining("Wait")]);
    expect((await about(IDENTITY))?.state).toBe("failed");
  });

  test("are named with their maker where nothing here can make them", async () => {
    await install();
    const rootCa = await about("root-ca");
    expect(rootCa?.message).toContain("so ovnkube-control-plane and network-node-identity of demo do not start");
    expect([rootCa?.fix, rootCa?.remedy]).toEqual([undefined, expect.stringContaining("control-plane-operator")]);
  });

  test("keep the Secret when pods may not be deleted, and leave pods that run", async () => {
    await install();
    await make(fixture.api, await rootCaSecret(NAMESPACE));
    const path = namedPath("Pod", { namespace: NAMESPACE, name: "network-node-identity-6f7c9d5b8f-x2x9k" });
    const pod = await fixture.api.get<Pod>(path);
    await fixture.api.update(path, { ...pod, status: { ...pod.status, phase: "Running" } });
    expect(await (await about(IDENTITY))?.fix?.apply()).toContain("pods that wait for it start within two minutes");
    const metrics = await about(METRICS);
    fixture.api.delete = async () => {
      throw new Error("pods is forbidden");
    };
    expect(await metrics?.fix?.apply()).toContain("they could not be deleted: pods is forbidden");
    expect(await secret(METRICS)).toBeDefined();
  });

  test("are not looked for without OVN-Kubernetes, nor where nodes join the pool's own cluster", async () => {
    const message = async () => (await findings())[0]?.message;
    expect(await message()).toBe("clusters-demo has no control plane of OVN-Kubernetes");
    fixture.isHosted = false;
    expect(await message()).toContain("nodes join the pool's own cluster");
  });
});
