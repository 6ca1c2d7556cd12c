import { basename, posix } from "node:path";
import { Document, type Scalar, stringify, visit } from "yaml";
import { egressFlag, egressVolumes, serverArguments } from "../model/created.js";
import type { BridgeModel } from "../model/model.js";
import { openshiftHost, placeholders, type Topology } from "../model/names.js";
import {
  type AgentCertificates,
  agentDaemonSet,
  agentNamespace,
  agentRoleBinding,
  agentSecret,
  agentServiceAccount,
  egressConfig,
  serverPod,
} from "./objects.js";

const renderings = {
  openshift: openshiftFiles,
  kubeadm: kubeadmFiles,
  bare: bareFiles,
} as const satisfies Record<Topology, (model: BridgeModel, certificates?: AgentCertificates) => RenderedFile[]>;

/** Every file of the bridge; without certificates their places in the Secret stay open. */
export function renderedFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return renderings[model.for](model, certificates);
}

/**
 * Whom a file is for: the cluster's API, the host that runs the server, or whoever starts the kube-apiserver (a change in
 * something that is not the bridge's).
 */
export type RenderedPart = "cluster" | "host" | "kube-apiserver";

export interface RenderedFile {
  readonly name: string;
  readonly part: RenderedPart;
  /** Where it belongs on the host; undefined when it is applied or merged instead. */
  readonly path: string | undefined;
  readonly mode: number;
  /** What the text says; undefined when it is not YAML. */
  readonly document?: object;
  readonly text: string;
}

/** Whom a file is for, where it belongs on the host, and its mode. */
type Place = readonly [part: RenderedPart, path?: string | undefined, mode?: number];

function yamlFile(name: string, place: Place, document: object, comment?: string): RenderedFile {
  return { ...textFile(name, place, toYaml(document, comment)), document };
}

function textFile(name: string, [part, path, mode = 0o644]: Place, text: string): RenderedFile {
  return { name, part, path, mode, text };
}

/** What somebody still has to fill in. */
export function openPlaceholders(files: readonly RenderedFile[]): string[] {
  return Object.values(placeholders).filter((name) => files.some(({ text }) => text.includes(name)));
}

/** What kubeadm and bare hosts have in common. A server that is a plain process needs no file. */
function commonFiles(model: BridgeModel, certificates: AgentCertificates | undefined): RenderedFile[] {
  const { paths, server } = model;
  const files = [
    yamlFile("namespace.yaml", ["cluster"], agentNamespace(model)),
    yamlFile("agent-certs-secret.yaml", ["cluster", undefined, 0o600], agentSecret(model, certificates)),
    yamlFile("agent-daemonset.yaml", ["cluster"], agentDaemonSet(model)),
    yamlFile("egress-selector-config.yaml", ["host", paths.egressConfig.host], egressConfig(model)),
  ];
  if (server.form === "static-pod")
    files.push(yamlFile(basename(paths.staticPod), ["host", paths.staticPod, 0o600], serverPod(model)));
  if (server.form === "systemd")
    files.push(textFile(basename(paths.unit), ["host", paths.unit], serverUnitText(model)));
  if (paths.tmpfiles !== undefined)
    files.push(textFile("tmpfiles.conf", ["host", paths.tmpfiles], tmpfilesText(model)));
  return files;
}

/** For a control plane that kubeadm builds: two ways to configure the socket, of which one is used. */
function kubeadmFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return [...commonFiles(model, certificates), ...configurations(model), ...patches(model)];
}

const ONE_OF_TWO = "Use either a ClusterConfiguration fragment or the patches, not both.";

function configurations(model: BridgeModel): RenderedFile[] {
  const { name, value } = egressFlag(model);
  const extraVolumes = egressVolumesOf(model).map(({ path, type, ...volume }) => ({
    ...volume,
    hostPath: path,
    mountPath: path,
    readOnly: true,
    pathType: type,
  }));
  const fragment = (version: string, extraArgs: object): RenderedFile =>
    yamlFile(
      `cluster-configuration-${version}.yaml`,
      ["kube-apiserver"],
      {
        apiVersion: `kubeadm.k8s.io/${version}`,
        kind: "ClusterConfiguration",
        apiServer: { extraArgs, extraVolumes },
      },
      `Merge into the file of kubeadm init --config. ${ONE_OF_TWO}`,
    );
  return [fragment("v1beta4", [{ name, value }]), fragment("v1beta3", { [name]: value })];
}

/**
 * For kubeadm --patches DIR. A strategic patch can add volumes but would replace the whole command, so the flag comes as
 * a JSON patch; kubeadm applies both.
 */
function patches(model: BridgeModel): RenderedFile[] {
  const { name, value } = egressFlag(model);
  const { volumeMounts, volumes } = apiServerVolumes(model);
  const strategic = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "kube-apiserver", namespace: "kube-system" },
    spec: { containers: [{ name: "kube-apiserver", volumeMounts }], volumes },
  };
  const flag = [{ op: "add", path: "/spec/containers/0/command/-", value: `--${name}=${value}` }];
  const comment = `Put both kube-apiserver+*.yaml into the directory of kubeadm --patches or of patches.directory in its configuration. ${ONE_OF_TWO}`;
  return [
    yamlFile("patches/kube-apiserver+strategic.yaml", ["kube-apiserver"], strategic, comment),
    yamlFile("patches/kube-apiserver+json.yaml", ["kube-apiserver"], flag, comment),
  ];
}

/** Only the file, not its directory, which also holds the server's key. Connecting to a socket needs no write access. */
const egressVolumesOf = ({ paths }: BridgeModel) => [
  { name: egressVolumes.config, path: paths.egressConfig.host, type: "File" },
  { name: egressVolumes.socket, path: paths.socketDirectory.host, type: "DirectoryOrCreate" },
];

/** What a kube-apiserver in a pod needs beside the flag; members in kubeadm's order. */
export function apiServerVolumes(model: BridgeModel) {
  const all = egressVolumesOf(model);
  return {
    volumeMounts: all.map(({ name, path }) => ({ mountPath: path, name, readOnly: true })),
    volumes: all.map(({ name, path, type }) => ({ hostPath: { path, type }, name })),
  };
}

/** For a kube-apiserver that somebody starts by hand or by a unit of their own. */
function bareFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  return [...commonFiles(model, certificates), flags(model)];
}

function flags(model: BridgeModel): RenderedFile {
  const { name, value } = egressFlag(model);
  const { socketDirectory, egressConfig } = model.paths;
  return textFile(
    "kube-apiserver.flags",
    ["kube-apiserver"],
    `# Add to the kube-apiserver's command and restart it; take away again before the bridge goes.
# A kube-apiserver in a container needs ${egressConfig.host} and
# ${socketDirectory.host} mounted under the same paths (read-only is enough).
--${name}=${value}
`,
  );
}

/** The YAML that a bootstrap.ign carries; placeholders stay open for the host's scripts. The shell files are not here. */
export function openshiftFiles(model: BridgeModel, certificates?: AgentCertificates): RenderedFile[] {
  // cluster-bootstrap creates one object a file.
  const file = (path: string, part: RenderedPart, document: object): RenderedFile =>
    yamlFile(basename(path), [part, path, 0o600], document);
  const host = openshiftHost;
  return [
    file(host.egressConfig, "host", egressConfig(model)),
    file(host.configOverride, "kube-apiserver", configOverride(model)),
    file(host.serverPod, "host", serverPod(model)),
    file(host.namespace, "cluster", agentNamespace(model)),
    file(host.agentCertsSecret, "cluster", agentSecret(model, certificates)),
    ...(model.agentNetwork === "host"
      ? [
          file(host.agentServiceAccount, "cluster", agentServiceAccount(model)),
          file(host.agentRoleBinding, "cluster", agentRoleBinding(model)),
        ]
      : []),
    file(host.agentDaemonSet, "cluster", agentDaemonSet(model)),
  ];
}

/** Merged into the bootstrap kube-apiserver's configuration; executed as a Go template before, so it holds no braces. */
function configOverride(model: BridgeModel) {
  const { name, value } = egressFlag(model);
  return {
    apiVersion: "kubecontrolplane.config.openshift.io/v1",
    kind: "KubeAPIServerConfig",
    apiServerArguments: { [name]: [value] },
  };
}

/** The server outside a cluster's pods: a systemd unit. */
export function serverUnitText(model: BridgeModel): string {
  const { paths, server } = model;
  const runtime = paths.socketDirectory.host;
  // systemd makes directories under /run only; any other has to be there already.
  const managed = posix.dirname(runtime) === "/run";
  const command = [server.program, ...serverArguments(model)].map(escaped).join(" \\\n  ");
  return `[Unit]
Description=Temporary bridge from the kube-apiserver into the cluster (drawbridge)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=${command}
Restart=always
RestartSec=2
${managed ? `${managedDirectory(posix.basename(runtime))}\n` : ""}Group=${server.socketGroup}
UMask=0007
NoNewPrivileges=yes
CapabilityBoundingSet=
ProtectSystem=strict
ProtectHome=read-only
PrivateTmp=yes
ReadWritePaths=${runtime}

[Install]
WantedBy=multi-user.target
`;
}

/** Kept over restarts: a kube-apiserver in a container would go on looking into the old directory. */
function managedDirectory(name: string): string {
  return `RuntimeDirectory=${name}\nRuntimeDirectoryMode=0770\nRuntimeDirectoryPreserve=yes`;
}

/** systemd expands % and $ in commands. */
function escaped(word: string): string {
  const text = word.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /[\s"'\\]/.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : text;
}

/** For systemd-tmpfiles: the directory is there, and closed to others, before the kubelet could make an open one. */
function tmpfilesText({ paths, server }: BridgeModel): string {
  return `d ${paths.socketDirectory.host} 0770 0 ${server.socketGroup} -\n`;
}

/** A manifest as text; `comment` goes on top. */
export function toYaml(value: object, comment = ""): string {
  const head = comment === "" ? "" : `${comment.trim().replace(/^/gm, "# ")}\n`;
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, { Scalar: (_, node) => quoteOpenValues(node) });
  return head + stringify(document, { lineWidth: 0 });
}

/** What replaces a placeholder may end in a colon (an IPv6 network's first address), which plain YAML reads as a key. */
function quoteOpenValues(node: Scalar): void {
  if (typeof node.value === "string" && node.value.includes("${")) node.type = "QUOTE_DOUBLE";
}
