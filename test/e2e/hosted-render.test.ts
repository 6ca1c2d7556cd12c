/** What `drawbridge hosted render` writes, as real Kubernetes components and the real Route take it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkConfig } from "../../src/cluster/hosted/config/config.js";
import { proxiedComponents } from "../../src/cluster/hosted/model/components.js";
import { type HostedModel, hostedModel, pkiOptions } from "../../src/cluster/hosted/model/model.js";
import { type Rendering, renderHosted } from "../../src/cluster/hosted/render/render.js";
import type { KubeManifest } from "../../src/cluster/kube/apply.js";
import { createAuthority } from "../../src/tunnel/pki/issue.js";
import { keepOrIssue } from "../../src/tunnel/pki/keep.js";
import { hostedProfile } from "../../src/tunnel/pki/profiles.js";
import { installRoutes } from "../support/hosted/routes.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import type { Outcome } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";
import { requireRouteCrd } from "../support/provider-crds/fetch.js";

const DRY_RUN = ["apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "--force-conflicts", "-f", "-"];
const NAMESPACE = "clusters-demo";
const images = {
  server: "registry.example/anp@sha256:00",
  agent: "registry.example/anp@sha256:00",
  sidecar: "r.example/cpo:1",
};
const { certificatePem: caBundle } = await createAuthority({ commonName: "root", validForMs: 3_600_000 });
const aggregatedApis = [
  { name: "openshift-apiserver", address: "172.30.10.11", caBundle },
  { name: "openshift-oauth-apiserver", address: "fd00::5", caBundle },
  { name: "packageserver", address: "172.30.10.13", caBundle },
  {
    name: "gauges",
    address: "172.30.10.14",
    caBundle,
    apiServices: ["v1.gauges.example.com", "v2.gauges.example.com"],
  },
  "172.30.10.20",
];
const networks = { service: ["172.31.0.0/16"], cluster: ["10.132.0.0/14"], machine: ["10.0.0.0/16"] };
const proxy = { http: "http://proxy.test:3128", https: "http://proxy.test:3128", trustedCA: "user-ca-bundle" };
const described: readonly object[] = [
  { publishing: { type: "Route", hostname: "konnectivity.example.test" }, aggregatedApis },
  {
    publishing: { type: "Route", hostname: "k.apps.demo.hypershift.local", router: "cluster" },
    signers: "shared",
    aggregatedApis,
  },
  {
    publishing: { type: "NodePort", address: "192.0.2.7", port: 30_091 },
    image: { kind: "upstream" },
    replicas: 1,
    aggregatedApis,
  },
  {
    publishing: { type: "LoadBalancer", hostname: "lb.example.test" },
    image: { kind: "payload", ...images },
    proxy,
    networks,
    aggregatedApis,
  },
  {
    publishing: { type: "LoadBalancer", address: "2001:db8::7" },
    agentHostNetwork: false,
    networks,
    proxy: { secret: "customer-proxy" },
    managementProxy: { secret: "management-proxy" },
    platform: { type: "AWS", region: "eu-west-1" },
  },
  ...["uds", "tcp"].map((frontend) => ({
    ...{ profile: "generic", frontend, publishing: { type: "LoadBalancer", address: "192.0.2.7" } },
  })),
];

const crd = (await equipped({ controlPlane: true })) ? await requireRouteCrd() : undefined;

describe.skipIf(crd === undefined)("a hosted control plane, rendered for a real kube-apiserver", () => {
  let scope: Scope;
  let plane: ControlPlane;
  const renderings: { readonly model: HostedModel; readonly rendering: Rendering }[] = [];
  const accepted = { code: 0, stderr: "" };
  const dryRun = (...objects: readonly object[]): Promise<Outcome> =>
    plane.admin.try(DRY_RUN, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  /** A pod as its controller would create it: admission judges pods, and only warns about templates. */
  const podOf = ({ metadata, spec }: KubeManifest, namespace: string) => {
    const { template } = spec as { template: { metadata: object; spec: object } };
    return {
      apiVersion: "v1",
      kind: "Pod",
      ...template,
      metadata: { ...template.metadata, name: metadata.name, namespace },
    };
  };

  beforeAll(async () => {
    scope = new Scope("hosted-render");
    plane = await startOnLoopback(scope);
    const restricted = {
      "pod-security.kubernetes.io/enforce": "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
    };
    await installRoutes(plane.admin, crd!);
    await plane.admin.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: NAMESPACE, labels: restricted },
    });
    for (const part of described) {
      const model = hostedModel(checkConfig({ name: "demo", ...part }, "the test"), { version: "test" });
      const nothing = { signers: new Map(), leaves: new Map() };
      const certificates = await keepOrIssue(hostedProfile(pkiOptions(model)), nothing, { renewBeforeMs: 0 });
      renderings.push({ model, rendering: renderHosted(model, certificates) });
    }
  });
  afterAll(() => scope?.close());

  const shown = (part: object) =>
    JSON.stringify(part, (key, value) => (key === "aggregatedApis" ? aggregatedApis.length : value));
  test.each(described.map((part, index) => [shown(part), index] as const))(
    "every object of %s is accepted without a warning",
    async (_, index) => {
      const manifests = renderings[index]!.rendering.objects.map(({ manifest }) => manifest);
      expect(await dryRun(...manifests)).toMatchObject(accepted);
    },
  );

  test("control-plane agents are admitted where pods are restricted, agents of the hosted cluster in kube-system", async () => {
    for (const { rendering, model } of renderings) {
      for (const { side, manifest } of rendering.objects) {
        if (manifest.kind !== "Deployment" && manifest.kind !== "DaemonSet") continue;
        // HyperShift makes its priority class itself.
        if (side === "control-plane" && model.priorityClass !== undefined) continue;
        const pod = podOf(manifest, side === "hosted" ? "kube-system" : NAMESPACE);
        expect({ side, ...(await dryRun(pod)) }).toMatchObject({ side, ...accepted });
      }
    }
  });

  test("host-network agents are refused where pods are restricted, so kube-system gets its labels", async () => {
    const { objects } = renderings[0]!.rendering;
    const daemonSet = objects.find(({ manifest }) => manifest.kind === "DaemonSet")!.manifest;
    expect((await dryRun(podOf(daemonSet, NAMESPACE))).stderr).toContain("host namespaces (hostNetwork=true)");
    const { metadata } = objects.find(({ manifest }) => manifest.kind === "Namespace")!.manifest;
    expect(metadata.labels).toMatchObject({ "pod-security.kubernetes.io/enforce": "privileged" });
  });

  test("a mistake in them would be noticed", async () => {
    const { objects } = renderings[0]!.rendering;
    const of = (kind: string) => objects.find(({ manifest }) => manifest.kind === kind)!.manifest;
    const route = of("Route");
    const wrong = await dryRun({ ...route, spec: { ...(route.spec as object), tls: { termination: "pass" } } });
    expect(wrong.stderr).toContain('Unsupported value: "pass"');
    const policy = of("NetworkPolicy");
    const misspelt = await dryRun({ ...policy, spec: { ...(policy.spec as object), ingres: [] } });
    expect(misspelt.stderr).toContain('unknown field "ingres"');
  });

  /** The Deployment of another, as its owner wrote it. */
  const deploymentOf = (name: string, volumes: readonly string[]) => ({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          containers: [
            { name, image: `registry.example/${name}:1`, args: ["--keep=me"], env: [{ name: "MINE", value: "1" }] },
          ],
          volumes: volumes.map((volume) => ({ name: volume, secret: { secretName: volume } })),
        },
      },
    },
  });
  type Plain = ReturnType<typeof deploymentOf>;
  type Pod = Plain["spec"]["template"]["spec"] & { readonly initContainers?: readonly { readonly name: string }[] };
  type Deployment = Plain & { readonly spec: { readonly template: { readonly spec: Pod } } };
  const patched = async (base: Deployment, patch: object): Promise<Deployment> => {
    const file = scope.file("patch.json");
    writeFileSync(file, JSON.stringify(patch));
    const words = ["patch", "--local", "-f", "-", "--type=strategic", `--patch-file=${file}`, "-o", "json"];
    return JSON.parse(await plane.admin.run(words, JSON.stringify(base))) as Deployment;
  };

  test("the patch brings the server beside a kube-apiserver and keeps the rest", async () => {
    for (const { rendering, model } of renderings) {
      const document = rendering.patches.find(({ file }) => file === "patches/kube-apiserver.yaml")!.document;
      const result = await patched(deploymentOf("kube-apiserver", ["certs"]), document);
      const { containers, initContainers, volumes } = result.spec.template.spec;
      expect(containers).toMatchObject([{ image: "registry.example/kube-apiserver:1", args: ["--keep=me"] }]);
      expect(initContainers).toMatchObject([{ name: "konnectivity-server", restartPolicy: "Always" }]);
      expect(volumes.map(({ name }) => name)).toContain("certs");
      // Restricted namespaces warn about what the owner's container lacks, which is not ours.
      const labels = { metadata: { ...result.metadata, namespace: "default" } };
      expect({ kind: model.images.kind, ...(await dryRun({ ...result, ...labels })) }).toMatchObject(accepted);
    }
  });

  test("a server that an earlier patch brought as an ordinary container is moved, not doubled", async () => {
    const patchOf = (change: object) => {
      const config = checkConfig({ name: "demo", ...described[0], ...change }, "the test");
      return renderHosted(hostedModel(config, { version: "test" })).patches[0]!.document;
    };
    const before = await patched(deploymentOf("kube-apiserver", []), patchOf({ nativeSidecar: false }));
    const names = ({ spec }: Deployment) =>
      [spec.template.spec.initContainers ?? [], spec.template.spec.containers].map((each) =>
        each.map(({ name }) => name).toSorted(),
      );
    expect(names(before)).toEqual([[], ["konnectivity-server", "kube-apiserver"]]);
    const after = await patched(before, patchOf({}));
    expect(names(after)).toEqual([["konnectivity-server"], ["kube-apiserver"]]);
    expect(await dryRun({ ...after, metadata: { ...after.metadata, namespace: "default" } })).toMatchObject(accepted);
  });

  test("the rendered patches of every component with a proxy are accepted by the API server", async () => {
    // With the customer's proxy as URLs, and out of a Secret.
    const patches = [3, 4].flatMap((index) => renderings[index]!.rendering.patches);
    for (const { file, document } of patches) {
      const found = proxiedComponents(renderings[3]!.model).find(({ name }) => file === `patches/${name}.yaml`);
      if (found === undefined) continue;
      const { name, kubeconfigVolume } = found;
      const result = await patched(deploymentOf(name, [kubeconfigVolume]), document);
      const main = result.spec.template.spec.containers.find((container) => container.name === name);
      expect(main?.env).toContainEqual({ name: "MINE", value: "1" });
      const labels = { metadata: { ...result.metadata, namespace: "default" } };
      expect({ name, ...(await dryRun({ ...result, ...labels })) }).toMatchObject({ name, ...accepted });
    }
  });

  test("the egress selector starts a kube-apiserver; with a misspelt field it does not", async () => {
    const { rendering, model } = renderings[0]!;
    const dataOf = ({ objects }: Rendering) =>
      objects.find(({ manifest }) => manifest.metadata.name === "kas-egress-selector-config")!.manifest.data as Record<
        string,
        string
      >;
    const data = dataOf(rendering);
    // The Secrets' mounts, in the lab's folder.
    const root = scope.file("certs");
    const text = data["config.yaml"]!.replaceAll("/etc/kubernetes/certs", root);
    const put = (file: string, base64: string) => {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, Buffer.from(base64, "base64"), { mode: 0o600 });
    };
    const client = rendering.objects.find(
      ({ manifest }) => manifest.kind === "Secret" && manifest.metadata.name === "konnectivity-client",
    )!.manifest.data as Record<string, string>;
    put(`${root}/konnectivity-client/tls.crt`, client["tls.crt"]!);
    put(`${root}/konnectivity-client/tls.key`, client["tls.key"]!);
    put(`${root}/konnectivity-ca/ca.crt`, client["ca.crt"]!);
    const file = scope.file("egress.yaml");
    writeFileSync(file, text);
    await plane.apiServer.start(file);
    expect(await plane.admin.raw("/readyz")).toBe("ok");
    writeFileSync(file, dataOf(renderings[5]!.rendering)["config.yaml"]!);
    await plane.apiServer.start(file);
    expect(await plane.admin.raw("/readyz")).toBe("ok");
    writeFileSync(file, text.replace("caBundle:", "caBundel:"));
    await expect(plane.apiServer.start(file)).rejects.toThrow(/ended before.*unknown field \S+caBundel/s);
    expect(model.namespace).toBe(NAMESPACE);
  });
});
