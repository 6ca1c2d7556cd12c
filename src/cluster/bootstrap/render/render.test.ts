/** Every rendering there is, checked for what must hold in all of them. */
import { basename, dirname } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { createdObjects } from "../model/created.js";
import { type BridgeModel, type BridgeOptions, bridgeModel, imageKinds } from "../model/model.js";
import { bootstrapOnlyLabel, placeholders, topologies } from "../model/names.js";
import { type RenderedFile, renderedFiles } from "./render.js";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name: string; readonly namespace?: string; readonly labels?: object };
}

const forms = {
  openshift: ["static-pod"],
  kubeadm: ["static-pod", "systemd"],
  bare: ["systemd", "static-pod", "process"],
};

const options = topologies.flatMap((topology) =>
  (["GRPC", "HTTPConnect"] as const).flatMap((protocol) =>
    (["pod", "host"] as const).flatMap((agentNetwork) =>
      imageKinds.flatMap((imageKind) =>
        forms[topology].map(
          (serverForm): BridgeOptions => ({
            for: topology,
            protocol,
            agentNetwork,
            imageKind,
            serverForm: serverForm as NonNullable<BridgeOptions["serverForm"]>,
            ...(imageKind === "payload" && topology !== "openshift" ? { image: "payload.example/konnectivity" } : {}),
          }),
        ),
      ),
    ),
  ),
);

const manifestsOf = (files: readonly RenderedFile[]): Manifest[] =>
  files.flatMap(({ text, document }) =>
    document === undefined ? [] : parseAllDocuments(text).map((parsed) => parsed.toJS() as Manifest),
  );

const one = <T = { spec: { template: { spec: PodSpec } } & PodSpec }>(
  files: readonly RenderedFile[],
  kind: string,
): T => {
  const found = manifestsOf(files).filter(
    (manifest) => manifest.kind === kind && manifest.metadata?.name !== "kube-apiserver",
  );
  expect(found, kind).toHaveLength(1);
  return found[0] as T;
};

interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly dnsPolicy?: string;
  readonly serviceAccountName?: string;
  readonly priorityClassName: string;
  readonly tolerations: readonly object[];
  readonly securityContext?: { readonly runAsNonRoot?: boolean };
  readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    readonly readinessProbe: { readonly httpGet: object };
    readonly livenessProbe: { readonly httpGet: object };
    readonly securityContext: object;
  }[];
}

/** The server's flags wherever the rendering has them. */
function serverFlags(files: readonly RenderedFile[]): string[] | undefined {
  const unit = files.find(({ name }) => name.endsWith(".service"));
  if (unit) return unit.text.match(/--\S+/g) ?? [];
  return files.some(({ name }) => name === "konnectivity-server-pod.yaml")
    ? [...(one(files, "Pod").spec.containers[0]?.args ?? [])]
    : undefined;
}

describe.each(options)("$for, $protocol, $agentNetwork network, $imageKind, $serverForm", (choice) => {
  const model: BridgeModel = bridgeModel(choice);
  const files = renderedFiles(model);

  test("the text says what the document says", () => {
    for (const { text, document } of files.filter((file) => file.document !== undefined)) {
      const parsed = parseAllDocuments(text);
      expect(parsed.flatMap(({ errors }) => errors)).toEqual([]);
      expect(parsed.map((each) => each.toJS())).toEqual([document]);
    }
  });

  test("kube-apiserver and server agree on protocol and socket", () => {
    const { egressSelections } = one<{ egressSelections: { name: string; connection: Connection }[] }>(
      files,
      "EgressSelectorConfiguration",
    );
    expect(egressSelections.map(({ name }) => name)).toEqual(["cluster", "controlplane", "etcd"]);
    const cluster = egressSelections[0]!.connection;
    expect(cluster.proxyProtocol).toBe(choice.protocol);
    const flags = serverFlags(files);
    if (flags === undefined) return;
    expect(flags).toContain(choice.protocol === "GRPC" ? "--mode=grpc" : "--mode=http-connect");
    expect(flags.filter((flag) => flag.startsWith("--server-"))).toEqual(["--server-port=0"]);
    const socket = flags.find((flag) => flag.startsWith("--uds-name="))!.slice("--uds-name=".length);
    const inApiServer = cluster.transport!.uds.udsName;
    expect(basename(socket)).toBe(basename(inApiServer));
    // The bootstrap kube-apiserver of OpenShift has the one directory mounted as the other; elsewhere they are the same.
    const seen = choice.for === "openshift" ? "/etc/kubernetes/config" : dirname(socket);
    expect(dirname(inApiServer)).toBe(seen);
  });

  test("agents are let in by certificate only", () => {
    const flags = serverFlags(files);
    if (flags === undefined) return;
    expect(flags.find((flag) => flag.startsWith("--cluster-ca-cert="))).toMatch(/\/ca\.crt$/);
  });

  test("the server's first strategy finds these agents: upstream's is ready by that one alone", () => {
    const flags = serverFlags(files);
    if (flags === undefined) return;
    expect(flags).toContain("--proxy-strategies=defaultRoute");
    expect(one(files, "DaemonSet").spec.template.spec.containers[0]?.args).toContain(
      "--agent-identifiers=default-route=true",
    );
  });

  test("everything of the bridge carries its label", () => {
    for (const { kind, metadata } of manifestsOf(files)) {
      // Files that no API server stores have no metadata, and the kube-apiserver's pod is not ours.
      if (metadata === undefined || metadata.name === "kube-apiserver") continue;
      expect(metadata.labels, kind).toMatchObject(bootstrapOnlyLabel);
    }
    expect(one<{ spec: { template: Manifest } }>(files, "DaemonSet").spec.template.metadata?.labels).toMatchObject(
      bootstrapOnlyLabel,
    );
  });

  test("teardown knows all of it", () => {
    const created = createdObjects(model);
    const paths = created.flatMap((entry) => ("path" in entry ? [entry.path] : []));
    for (const { path } of files) if (path !== undefined) expect(paths).toContain(path);
    for (const { part, text, document } of files) {
      if (part === "cluster") {
        const { apiVersion, kind, metadata } = document as Manifest;
        const { name, namespace } = metadata!;
        const entry = { type: "object", apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
        expect(created).toContainEqual(entry);
      }
      if (part === "kube-apiserver" && choice.for !== "openshift") {
        const setting = created.find((entry) => entry.type === "setting")!;
        const mentions = [...text.matchAll(/name: (drawbridge-\S+)/g)].map(([, volume]) => volume);
        expect(setting.volumes).toEqual(expect.arrayContaining(mentions));
        if (mentions.length === 0) expect(text).toContain(`--${setting.flag}=${setting.value}`);
      }
    }
    expect(paths).toContain(model.paths.socket.host);
    expect(paths).toContain(model.paths.pki.host);
  });

  test("agents run on every node and are asked where they answer", () => {
    const { spec } = one(files, "DaemonSet").spec.template;
    expect(spec.tolerations).toEqual([{ operator: "Exists" }]);
    const container = spec.containers[0]!;
    const port = Number(container.args.find((flag) => flag.startsWith("--health-server-port="))?.split("=")[1]);
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port });
    // Beside a server on the same host its port is taken.
    expect(port).toBe(choice.agentNetwork === "host" ? 2042 : 2041);
    expect(spec.hostNetwork ?? false).toBe(choice.agentNetwork === "host");
    expect(spec.dnsPolicy).toBe(choice.agentNetwork === "host" ? "Default" : undefined);
  });

  test("no key, no Go template, no carriage return", () => {
    for (const { text } of files) expect(text).not.toMatch(/PRIVATE KEY|LS0tLS1CRUdJTi|\{\{|\r/);
  });

  test("every volume that is mounted exists", () => {
    const pods = [one(files, "DaemonSet").spec.template.spec];
    if (choice.serverForm === "static-pod") pods.push(one(files, "Pod").spec);
    for (const { containers, volumes } of pods) {
      const mounted = containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
      expect(mounted.toSorted()).toEqual(volumes.map(({ name }) => name).toSorted());
    }
  });
});

interface Connection {
  readonly proxyProtocol: string;
  readonly transport?: { readonly uds: { readonly udsName: string } };
}

test("the certificates' places in the Secret take base64 of PEM", () => {
  const files = renderedFiles(bridgeModel({ for: "bare" }), { cert: "certificate", key: "key", ca: "authority" });
  const { data } = one<{ data: Record<string, string> }>(files, "Secret");
  const decoded = Object.entries(data).map(([name, value]) => [name, Buffer.from(value, "base64").toString()]);
  expect(Object.fromEntries(decoded)).toEqual({ "tls.crt": "certificate", "tls.key": "key", "ca.crt": "authority" });
});

test.each(["10.0.0.1", "fd00::", "fd00::1"])("%s in the placeholder's place is one address", (address) => {
  const daemonSet = renderedFiles(bridgeModel({ for: "openshift" })).find(({ name }) => name.includes("daemonset"))!;
  const filled = daemonSet.text
    .replaceAll(placeholders.address, address)
    .replaceAll(placeholders.image, "a/b@sha256:0");
  const [document] = parseAllDocuments(filled);
  const { spec } = (document!.toJS() as { spec: { template: { spec: PodSpec } } }).spec.template;
  expect(spec.containers[0]!.args).toContain(`--proxy-server-host=${address}`);
});
