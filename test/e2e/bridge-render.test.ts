/** What `drawbridge bootstrap render` writes, as real Kubernetes components take it. */
import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type BridgeOptions, bridgeModel } from "../../src/cluster/bootstrap/model/model.js";
import type { AgentCertificates } from "../../src/cluster/bootstrap/render/objects.js";
import { type RenderedFile, renderedFiles } from "../../src/cluster/bootstrap/render/render.js";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped } from "../support/lab/equipment.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import type { Outcome } from "../support/lab/run.js";
import { Scope } from "../support/lab/scope.js";

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string; readonly labels: object };
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } };
}

const DRY_RUN = ["apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "-f", "-"];
const image = "registry.example/konnectivity@sha256:00";
const address = { serverAddresses: ["192.0.2.10"] };
const bridges: readonly BridgeOptions[] = [
  { for: "openshift", image, ...address },
  { for: "openshift", image, agentNetwork: "host", protocol: "HTTPConnect", ...address },
  { for: "kubeadm", ...address },
  { for: "kubeadm", agentNetwork: "host", serverAddresses: ["192.0.2.10", "2001:db8::10"] },
  { for: "kubeadm", imageKind: "upstream", protocol: "HTTPConnect", ...address },
  { for: "bare", serverForm: "static-pod", ...address },
];

const ready = await equipped({ controlPlane: true });

describe.skipIf(!ready)("rendered for a real kube-apiserver", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let certificates: AgentCertificates;

  const render = (options: BridgeOptions): RenderedFile[] => renderedFiles(bridgeModel(options), certificates);
  const named = (files: readonly RenderedFile[], part: string): RenderedFile => {
    const found = files.filter(({ name }) => name.includes(part));
    expect(found, part).toHaveLength(1);
    return found[0]!;
  };
  const dryRun = (manifest: string | object): Promise<Outcome> =>
    plane.admin.try(DRY_RUN, typeof manifest === "string" ? manifest : JSON.stringify(manifest));
  /** A pod as the DaemonSet controller would create it: admission judges pods, and only warns about templates. */
  const agentPod = (files: readonly RenderedFile[]) => {
    const { metadata, spec } = parse(named(files, "daemonset").text) as Workload;
    const { name, namespace } = metadata;
    const { template } = spec;
    return { apiVersion: "v1", kind: "Pod", ...template, metadata: { ...template.metadata, name, namespace } };
  };
  const accepted = { code: 0, stderr: "" };

  beforeAll(async () => {
    scope = new Scope("render");
    plane = await startOnLoopback(scope);
    const { cert, key } = plane.ca.issue({ file: "agent", name: "konnectivity-agent", use: "client" });
    certificates = {
      cert: readFileSync(cert, "utf8"),
      key: readFileSync(key, "utf8"),
      ca: readFileSync(plane.ca.cert, "utf8"),
    };
  });
  afterAll(() => scope?.close());

  describe.each(bridges)("%j", (options) => {
    test("every object is accepted, and its pods are admitted without a warning", async () => {
      const files = render(options);
      const namespace = named(files, "namespace").text;
      expect(await dryRun(namespace)).toMatchObject(accepted);
      await plane.admin.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], namespace);
      for (const { name, text } of files.filter(({ part }) => part === "cluster")) {
        expect({ name, ...(await dryRun(text)) }).toMatchObject({ name, ...accepted });
      }
      expect(await dryRun(named(files, "server-pod").text)).toMatchObject(accepted);
      expect(await dryRun(agentPod(files))).toMatchObject(accepted);
    });
  });

  test("a mistake in them would be noticed", async () => {
    const files = render({ for: "kubeadm", ...address });
    await plane.admin.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], named(files, "namespace").text);
    const daemonSet = named(files, "daemonset").text;
    const misspelt = await dryRun(daemonSet.replace("readinessProbe:", "readyProbe:"));
    expect(misspelt.stderr).toContain(".readyProbe: field not declared in schema");
    const selectsNothing = await dryRun(
      daemonSet.replace("app: konnectivity-agent\n  template", "app: other\n  template"),
    );
    expect(selectsNothing.stderr).toContain("`selector` does not match template `labels`");
    const unfilled = renderedFiles(bridgeModel({ for: "kubeadm" }));
    expect((await dryRun(named(unfilled, "secret").text)).stderr).toContain("illegal base64 data");
  });

  test("a namespace for agents in the pod network keeps host-network pods out", async () => {
    const inPods = render({ for: "kubeadm", ...address });
    await plane.admin.run(["apply", "--server-side", "--force-conflicts", "-f", "-"], named(inPods, "namespace").text);
    const onHost = render({ for: "kubeadm", agentNetwork: "host", ...address });
    expect((await dryRun(agentPod(onHost))).stderr).toContain(
      'violates PodSecurity "restricted:latest": host namespaces',
    );
  });

  test("kubeadm's patches add the flag and the volumes to a kube-apiserver and keep the rest", async () => {
    const files = render({ for: "kubeadm", ...address });
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "kube-apiserver", namespace: "kube-system" },
      spec: {
        containers: [
          {
            name: "kube-apiserver",
            image: "registry.example/kube-apiserver:v1",
            command: ["kube-apiserver", "--secure-port=6443"],
            volumeMounts: [{ name: "certs", mountPath: "/etc/kubernetes/pki" }],
          },
        ],
        volumes: [{ name: "certs", hostPath: { path: "/etc/kubernetes/pki" } }],
      },
    };
    let patched = JSON.stringify(pod);
    for (const type of ["strategic", "json"]) {
      const file = scope.file(`${type}.yaml`);
      writeFileSync(file, named(files, `kube-apiserver+${type}`).text);
      const patch = ["patch", "--local", "-f", "-", `--type=${type}`, `--patch-file=${file}`, "-o", "json"];
      patched = await plane.admin.run(patch, patched);
    }
    const { spec } = JSON.parse(patched) as typeof pod;
    const [container] = spec.containers;
    const egress = "/etc/kubernetes/drawbridge-bootstrap/egress-selector-config.yaml";
    expect(container?.command).toEqual([
      ...["kube-apiserver", "--secure-port=6443", `--egress-selector-config-file=${egress}`],
    ]);
    const paths = [egress, "/run/drawbridge-bootstrap", "/etc/kubernetes/pki"].toSorted();
    expect(container?.volumeMounts.map(({ mountPath }) => mountPath).toSorted()).toEqual(paths);
    expect(spec.volumes.map(({ hostPath }) => hostPath.path).toSorted()).toEqual(paths);
    expect(await dryRun(patched)).toMatchObject(accepted);
  });

  describe("the egress configuration", () => {
    const start = async (text: string): Promise<void> => {
      const file = scope.file("egress-selector-config.yaml");
      writeFileSync(file, text);
      await plane.apiServer.start(file);
    };
    const egressOf = (options: BridgeOptions): string => named(render(options), "egress-selector-config").text;

    test.each([
      { for: "openshift", protocol: "GRPC" },
      { for: "openshift", protocol: "HTTPConnect" },
      { for: "kubeadm", protocol: "GRPC" },
      { for: "bare", protocol: "HTTPConnect" },
    ] as const)("for $for with $protocol starts a kube-apiserver", async (options) => {
      await start(egressOf(options));
      expect(await plane.admin.raw("/readyz")).toBe("ok");
    });

    test.each([
      [
        "an unknown protocol",
        "proxyProtocol: GRPC",
        "proxyProtocol: Grpc",
        /ended before.*Unsupported value: \S+Grpc/s,
      ],
      ["an unknown field", "udsName:", "socket:", /ended before.*unknown field \S+uds\.socket/s],
    ])("with %s does not", async (_, right, wrong, complaint) => {
      const text = egressOf({ for: "bare" });
      expect(text).toContain(right);
      await expect(start(text.replace(right, wrong))).rejects.toThrow(complaint);
    });
  });
});
