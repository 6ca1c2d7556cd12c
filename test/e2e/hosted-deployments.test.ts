/** `hosted apply --patch-kube-apiserver` on Deployments as people and operators make them, and what `delete` gives back. */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { HostedReport } from "../../src/cluster/hosted/apply/apply.js";
import type { ManagedObject } from "../../src/cluster/kube/managed-fields.js";
import { type Answer, hosted } from "../support/hosted/command.js";
import { hyperShiftDeployment, plainDeployment } from "../support/hosted/deployments.js";
import { remainsOf } from "../support/hosted/remains.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { Scope } from "../support/lab/scope.js";

const GRACE = "spec.template.spec.terminationGracePeriodSeconds";

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly lifecycle?: { readonly preStop: object };
}

interface Deployment extends ManagedObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly volumes?: readonly { readonly name: string }[];
        readonly initContainers?: readonly Container[];
        readonly containers: readonly Container[];
      };
    };
  };
}

describe.skipIf(!(await equipped({ controlPlane: true })))("hosted apply on Deployments as people make them", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let config: string;
  let namespace: string;
  let count = 0;

  beforeAll(async () => {
    scope = new Scope("deployments");
    plane = await startOnLoopback(scope);
    config = scope.file("hosted.json");
  });
  afterAll(() => scope?.close());
  beforeEach(async () => {
    described = {};
    namespace = `clusters-${++count}`;
    await plane.admin.run(["create", "namespace", namespace]);
  });

  let described: object = {};
  const command = (name: string, ...flags: readonly string[]): Promise<Answer> => {
    const publishing = { type: "NodePort", address: "192.0.2.7", port: 30_090 + count };
    writeFileSync(config, JSON.stringify({ name: String(count), publishing, ...described }));
    return hosted(name, `--config=${config}`, `--kubeconfig=${plane.adminConfig}`, ...flags);
  };
  const patched = (...flags: readonly string[]) => command("apply", "--patch-kube-apiserver", ...flags);
  const done = { status: 0, stderr: "" };
  const make = (how: readonly string[], object: object) => plane.admin.run([...how, "-f", "-"], JSON.stringify(object));
  const current = (): Promise<Deployment> =>
    plane.admin.json(["get", "deployment", "kube-apiserver", "-n", namespace, "--show-managed-fields"]);
  /** Volumes are told apart by name; their order says nothing. */
  const inOrder = ({ spec }: Deployment) => {
    const pod = spec.template.spec;
    const volumes = pod.volumes?.toSorted((one, other) => one.name.localeCompare(other.name));
    return { ...spec, template: { ...spec.template, spec: { ...pod, volumes } } };
  };
  /** The lists of containers that have the server. */
  const serverPlaces = ({ spec: { template } }: Deployment) =>
    (["initContainers", "containers"] as const).flatMap((place) =>
      (template.spec[place] ?? []).filter(({ name }) => name === "konnectivity-server").map(() => place),
    );
  const managers = ({ metadata }: Deployment) => new Set(metadata?.managedFields?.map(({ manager }) => manager));
  const policyPorts = async (): Promise<number[]> => {
    const path = "-ojsonpath={.spec.ingress[*].ports[*].port}";
    const ports = await plane.admin.run(["get", "networkpolicy", "konnectivity-server", "-n", namespace, path]);
    return ports.split(" ").map(Number);
  };

  test.each([
    ["kubectl-create", ["create"], "hypershift"],
    ["kubectl-client-side-apply", ["apply"], "hypershift"],
    ["kubectl", ["apply", "--server-side"], "hypershift"],
    ["kubectl-client-side-apply", ["apply"], "generic"],
  ])("%s by %j: it gets its server as %s has it, and all of it back", async (manager, how, profile) => {
    const flag = `--profile=${profile}`;
    await make(how, plainDeployment(namespace, { terminationGracePeriodSeconds: 20 }));
    const before = await current();
    const first = await patched(flag);
    expect(first).toMatchObject(done);
    expect(first.stdout).toContain(`${GRACE}: 20 -> 135`);
    expect(first.stdout).toContain(`took over from ${manager}: ${GRACE}`);
    expect(first.stdout).toContain("it has 1 replica, but agents look for 3 servers");
    expect((await current()).spec.template.spec.terminationGracePeriodSeconds).toBe(135);
    // A policy closes every port that it does not name.
    expect(await policyPorts()).toEqual(expect.arrayContaining([8443, 9100]));
    const { objects } = JSON.parse((await command("apply", "--output=json", flag)).stdout) as HostedReport;
    expect(new Set(objects.filter(({ cluster }) => cluster === "management").map(({ action }) => action))).toEqual(
      new Set(["unchanged"]),
    );
    expect(await command("delete", flag)).toMatchObject(done);
    const after = await current();
    expect(after.spec).toEqual(before.spec);
    expect(managers(after)).toEqual(managers(before));
    expect(after.metadata?.annotations ?? {}).toEqual(before.metadata?.annotations ?? {});
    expect(await remainsOf(plane.admin, namespace)).toBe("");
  });

  test("a grace period that is long enough stays its owner's, and a later one is what they get back", async () => {
    await make(["apply"], plainDeployment(namespace, { terminationGracePeriodSeconds: 300 }));
    expect(await patched()).toMatchObject({ ...done, stdout: expect.not.stringContaining(GRACE) });
    await make(["apply"], plainDeployment(namespace, { terminationGracePeriodSeconds: 60 }));
    expect(serverPlaces(await current())).toEqual(["initContainers"]);
    expect(await command("apply")).toMatchObject({ ...done, stdout: expect.stringContaining(`${GRACE}: 60 -> 135`) });
    await make(["apply"], plainDeployment(namespace, { terminationGracePeriodSeconds: 50 }));
    expect(await command("delete")).toMatchObject(done);
    expect((await current()).spec.template.spec).toMatchObject({
      terminationGracePeriodSeconds: 50,
      containers: [{ name: "kube-apiserver" }, { name: "exporter" }],
    });
  });

  test("a server that an apply brought as an ordinary container is moved before the kube-apiserver, and back", async () => {
    const init = { name: "render", image: "registry.example/render:1" };
    await make(["apply"], plainDeployment(namespace, { initContainers: [init] }));
    const before = await current();
    // As versions of drawbridge brought it that knew no native sidecars.
    described = { nativeSidecar: false };
    expect(await patched()).toMatchObject(done);
    expect(serverPlaces(await current())).toEqual(["containers"]);
    described = {};
    const moved = await command("apply");
    expect(moved).toMatchObject(done);
    const { initContainers, containers } = (await current()).spec.template.spec;
    expect(initContainers).toMatchObject([init, { name: "konnectivity-server", restartPolicy: "Always" }]);
    expect(containers.map(({ name }) => name)).toEqual(["kube-apiserver", "exporter"]);
    expect((await command("diff")).status).toBe(0);
    described = { nativeSidecar: false };
    expect(await command("apply")).toMatchObject(done);
    expect(serverPlaces(await current())).toEqual(["containers"]);
    described = {};
    expect(await command("apply")).toMatchObject(done);
    expect(await command("delete")).toMatchObject(done);
    expect((await current()).spec).toEqual(before.spec);
  });

  test("a server of ours of which somebody set the image by hand stays where it is", async () => {
    await make(["apply"], plainDeployment(namespace));
    described = { nativeSidecar: false };
    expect(await patched()).toMatchObject(done);
    const image = "konnectivity-server=registry.example/theirs:1";
    await plane.admin.run(["set", "image", "deployment/kube-apiserver", "-n", namespace, image]);
    described = {};
    const refused = await command("apply");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/conflict.*--force-conflicts/s) });
    expect(serverPlaces(await current())).toEqual(["containers"]);
  });

  test("objects that others made are theirs again after delete, with what they had", async () => {
    const at = (name: string) => ({ metadata: { name, namespace } });
    const [egress, local, client] = ["kas-egress-selector-config", "konnectivity-server-local", "konnectivity-client"];
    const ports = [{ name: "theirs", port: 8090, targetPort: 9 }];
    const objects = [
      { apiVersion: "v1", kind: "ConfigMap", ...at(egress), data: { "config.yaml": "theirs", other: "kept" } },
      { apiVersion: "v1", kind: "Service", ...at(local), spec: { selector: { app: "theirs", tier: "theirs" }, ports } },
      { apiVersion: "v1", kind: "Secret", ...at(client), stringData: { note: "theirs" } },
    ];
    await make(["create"], { apiVersion: "v1", kind: "List", items: objects });
    const read = async () => {
      const words = ["get", `configmap/${egress}`, `service/${local}`, `secret/${client}`, "-n", namespace];
      const { items } = await plane.admin.json<{ items: (ManagedObject & { data?: object; spec?: object })[] }>(words);
      const [map, service, secret] = items;
      return { map: map!.data, service: service!.spec, note: secret!.data, meta: items.map((each) => each.metadata) };
    };
    const before = await read();
    const refused = await command("apply");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("--force-conflicts") });
    expect(await remainsOf(plane.admin, namespace)).toBe("");
    const forced = await command("apply", "--force-conflicts");
    expect(forced).toMatchObject({
      ...done,
      stdout: expect.stringContaining("took over from kubectl-create: data.config.yaml"),
    });
    expect((await read()).map).not.toEqual(before.map);
    expect(await command("apply")).toMatchObject(done);
    expect(await command("delete")).toMatchObject({ ...done, stdout: expect.stringContaining("3 released") });
    const after = await read();
    expect(after).toMatchObject({ map: before.map, service: before.service, note: before.note });
    for (const each of after.meta) expect([each?.labels, each?.annotations]).toEqual([undefined, undefined]);
    expect(await remainsOf(plane.admin, namespace)).toBe("");
  });

  test("HyperShift's own server is replaced when told to, and given back to its operator", async () => {
    const operator = "control-plane-operator";
    await make(["create", `--field-manager=${operator}`], hyperShiftDeployment(namespace));
    const before = await current();
    const refused = await patched();
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/conflict.*--force-conflicts/s) });
    // All of it is checked before anything is changed.
    expect(await remainsOf(plane.admin, namespace)).toBe("");
    const upstream = await patched("--force-conflicts", "--image-kind=upstream");
    expect(upstream).toMatchObject({ status: 1, stderr: expect.stringContaining("preStop.exec") });
    expect(await current()).toEqual(before);

    const forced = await patched("--force-conflicts");
    expect(forced).toMatchObject({ ...done, stdout: expect.stringContaining(`took over from ${operator}: `) });
    const server = (await current()).spec.template.spec.containers.find(({ name }) => name === "konnectivity-server");
    expect(Object.keys(server!.lifecycle!.preStop)).toEqual(["exec"]);
    expect(server).toMatchObject({ image: expect.stringContaining("drawbridge"), command: ["/usr/bin/proxy-server"] });
    // Its pods need the Secrets even when the server is HyperShift's again.
    expect(await command("delete")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("DB_HOSTED_IN_USE"),
    });
    expect((await current()).spec.template.spec.containers[1]).toEqual(server);
    expect(await command("delete", "--force")).toMatchObject(done);
    const after = await current();
    expect(inOrder(after)).toEqual(inOrder(before));
    expect(managers(after)).toEqual(new Set([operator]));
  });
});
