/** Parts of payloads: entries of a config, the proxy of the API, and the profile kubelet. */
import { isIP } from "node:net";
import { stringify } from "yaml";
import { splitHostPort } from "../../../base/address.js";
import { isRecord } from "../../../base/at.js";
import { dataUrlOf } from "../../../base/data-url.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Config, type FileEntry, NEWEST, type Unit, versionOf } from "../../ignition/config.js";
import { fieldsOf } from "../yaml.js";
import { type KubeletFields, OLDEST_MINOR, requireKubeletFields } from "./kubelet-fields.js";

/** A file that replaces what the machine's image or an earlier config has at its path. */
export function fileEntry(path: string, content: string, mode = 0o644): FileEntry {
  return { path, mode, overwrite: true, contents: { source: dataUrlOf(content) } };
}

export function enabledUnit(HOST_NAME: string, contents: string): Unit {
  return { name: HOST_NAME, enabled: true, contents };
}

interface Parts {
  readonly files?: readonly FileEntry[];
  readonly units?: readonly Unit[];
  /** SSH keys of the user core. */
  readonly sshKeys?: readonly string[];
}

/** Lists that would be empty are left out, as the model wants it. */
export function configOf({ files = [], sshKeys = [], units = [] }: Parts): Config {
  return {
    ignition: { version: versionOf(NEWEST) },
    ...(files.length === 0 ? {} : { storage: { files } }),
    ...(units.length === 0 ? {} : { systemd: { units } }),
    ...(sshKeys.length === 0 ? {} : { passwd: { users: [{ name: "core", sshAuthorizedKeys: sshKeys }] } }),
  };
}

/** The forms of fields whose values are put into a script, unit or configuration as they are. */
type FieldForms = Readonly<
  Record<string, { is(value: never): boolean; readonly must: string; readonly usual?: unknown }>
>;
type Fields<Forms extends FieldForms> = { readonly [Name in keyof Forms]: Parameters<Forms[Name]["is"]>[0] };

/** The fields of a mapping, with the usual value of each that is missing. Throws for a key that is not known. */
export function readForms<Forms extends FieldForms>(value: unknown, what: string, forms: Forms): Fields<Forms> {
  const given = fieldsOf(value ?? {}, what, Object.keys(forms));
  const fields = Object.entries(forms).map(([name, { usual }]) => [name, given[name] ?? usual]);
  return requireForms(Object.fromEntries(fields) as Fields<Forms>, what, forms);
}

/** Throws DB_PAYLOAD, which names the field, for a value that would be something else where it is put. */
function requireForms<Forms extends FieldForms>(fields: Fields<Forms>, what: string, forms: Forms): Fields<Forms> {
  for (const [name, { is, must }] of Object.entries(forms)) {
    const value = fields[name] as never;
    if (!is(value)) throw new DrawbridgeError("DB_PAYLOAD", `${what}.${name} ${must}, not ${JSON.stringify(value)}`);
  }
  return fields;
}

const isText = (value: unknown): value is string => typeof value === "string";
const listOf = (is: (text: string) => boolean) => (list: readonly string[]) =>
  Array.isArray(list) && list.every((item) => isText(item) && is(item));

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?";
const name = new RegExp(`^${LABEL}(?:\\.${LABEL}){0,126}\\.?$`);

function isAddress(text: string): boolean {
  return isText(text) && isIP(text) !== 0 && !text.includes("%");
}

function isHost(text: string): boolean {
  return isAddress(text) || (isText(text) && text.length <= 254 && name.test(text));
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** `host:port`. */
function isServer(text: string): boolean {
  if (!isText(text)) return false;
  const split = splitHostPort(text);
  if ("error" in split || (text.startsWith("[") && !isAddress(split.host))) return false;
  return isHost(split.host) && /^[0-9]{1,5}$/.test(split.port) && isPort(Number(split.port));
}

function isImage(text: string): boolean {
  return isText(text) && /^[\w.:/@-]+$/.test(text);
}

/** systemd expands % and $ in commands, and divides them at spaces. */
function isPlainPath(text: string): boolean {
  return isText(text) && /^(?:\/[\w.@+-]+)+$/.test(text) && !/\/\.{1,2}(?:\/|$)/.test(text);
}

/** A key with a line break would be two, the second with whatever rights it asks for. */
export function isOneLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return isText(text) && text !== "" && !/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text);
}

export const apiProxyForms = {
  /** Given to the node's loopback interface. */
  address: { is: isAddress, must: "must be an IP address", usual: "172.20.0.1" },
  port: { is: isPort, must: "must be 1 to 65535", usual: 6443 },
  server: { is: isServer, must: "must be host:port, with a host name or an address and a number" },
  image: { is: isImage, must: "must be the pull spec of an image" },
};

/**
 * HAProxy on each node: the node reaches the API at an address that only it has, and HAProxy forwards connections to the API
 * server. Files and units are those of HyperShift.
 */
export type ApiProxy = Fields<typeof apiProxyForms>;

const SET_UP = "/usr/local/bin/setup-apiserver-ip.sh";
const TEAR_DOWN = "/usr/local/bin/teardown-apiserver-ip.sh";
const CONFIGURATION = "/etc/kubernetes/apiserver-proxy-config";

export function apiProxyConfig(proxy: ApiProxy): Config {
  requireForms(proxy, "apiProxy", apiProxyForms);
  return configOf({
    files: [
      fileEntry(SET_UP, script("replace", proxy.address), 0o755),
      fileEntry(TEAR_DOWN, script("del", proxy.address), 0o755),
      fileEntry(`${CONFIGURATION}/haproxy.cfg`, haproxy(proxy)),
      fileEntry("/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", stringify(pod(proxy))),
    ],
    units: [enabledUnit("apiserver-ip.service", ADDRESS_UNIT)],
  });
}

function script(verb: "replace" | "del", address: string): string {
  const length = address.includes(":") ? 128 : 32;
  return `#!/usr/bin/env bash\nset -euo pipefail\nip address ${verb} ${address}/${length} dev lo\n`;
}

const ADDRESS_UNIT = `[Unit]
Description=Give this node the address at which it reaches the Kubernetes API
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=${SET_UP}
ExecStop=${TEAR_DOWN}

[Install]
WantedBy=multi-user.target
`;

function haproxy({ address, port, server }: ApiProxy): string {
  const bind = address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
  return `global
  maxconn 7000
  log stdout format raw local0

defaults
  mode tcp
  timeout connect 10s
  timeout client 10m
  timeout server 10m

frontend local_apiserver
  bind ${bind}
  default_backend remote_apiserver

backend remote_apiserver
  option tcp-check
  server controlplane ${server} check inter 10s fall 3 rise 3
`;
}

function pod({ address, image, port }: ApiProxy): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "kube-apiserver-proxy", namespace: "kube-system", labels: { "k8s-app": "kube-apiserver-proxy" } },
    spec: {
      hostNetwork: true,
      priorityClassName: "system-node-critical",
      securityContext: { runAsUser: 1001 },
      containers: [
        {
          name: "haproxy",
          image,
          command: ["haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"],
          ports: [{ name: "apiserver", containerPort: port, hostIP: address }],
          livenessProbe: {
            initialDelaySeconds: 120,
            periodSeconds: 120,
            failureThreshold: 3,
            httpGet: { path: "/version", scheme: "HTTPS", host: address, port },
          },
          resources: { requests: { cpu: "13m", memory: "16Mi" } },
          volumeMounts: [{ name: "config", mountPath: "/usr/local/etc/haproxy", readOnly: true }],
        },
      ],
      volumes: [{ name: "config", hostPath: { path: CONFIGURATION } }],
    },
  };
}

export const BOOTSTRAP_KUBECONFIG = "/etc/kubernetes/bootstrap-kubeconfig";
const AUTHORITY = "/etc/kubernetes/ca.crt";
const SETTINGS = "/etc/kubernetes/kubelet.yaml";

const sockets = { containerd: "/run/containerd/containerd.sock", crio: "/run/crio/crio.sock" };

const plainPath = "must be an absolute path of letters, digits, dots and dashes";
const isOneOf =
  <Word extends string>(...words: Word[]) =>
  (text: Word) =>
    words.includes(text);

/** A program that the image does not have. Without its hash, the server of the download would decide what runs as root. */
export const downloadForms = {
  path: { is: isPlainPath, must: plainPath },
  source: { is: isOneLine, must: "must be a URL" },
  hash: { is: isOneLine, must: "must be sha512-... or sha256-..." },
};

type Download = Fields<typeof downloadForms>;

const taintForms = {
  key: { is: isLabelName, must: "must be a label's name such as example.com/dedicated" },
  value: { is: isLabelValue, must: "must be a label's value", usual: "" },
  effect: {
    is: isOneOf("NoSchedule", "PreferNoSchedule", "NoExecute"),
    must: "must be NoSchedule, PreferNoSchedule or NoExecute",
  },
};

type KubeletTaint = Fields<typeof taintForms>;

const LABEL_PART = "[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const labelName = new RegExp(`^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?/)?${LABEL_PART}$`);

function isLabelName(text: string): boolean {
  return isText(text) && labelName.test(text);
}

function isLabelValue(text: string): boolean {
  return isText(text) && (text === "" || new RegExp(`^${LABEL_PART}$`).test(text));
}

/** Labels of Kubernetes' own that a kubelet may give its node; with any other it does not start. */
const KUBELETS_LABELS = [
  ...["hostname", "os", "arch"].map((name) => `kubernetes.io/${name}`),
  ...["os", "arch", "instance-type"].map((name) => `beta.kubernetes.io/${name}`),
  ...["region", "zone"].flatMap((name) => [
    `topology.kubernetes.io/${name}`,
    `failure-domain.beta.kubernetes.io/${name}`,
  ]),
];
const KUBERNETES = /^(.*\.)?(kubernetes|k8s)\.io\//;
const KUBELETS_PREFIX = /^(.*\.)?(node|kubelet)\.kubernetes\.io\//;

function isKubelets(label: string): boolean {
  return !KUBERNETES.test(label) || KUBELETS_PREFIX.test(label) || KUBELETS_LABELS.includes(label);
}

const labelError = (where: string, key: string, why: string) =>
  new DrawbridgeError("DB_PAYLOAD", `${where}.nodeLabels: ${JSON.stringify(key)} ${why}`);

/** True, or a sentence is thrown. */
function requireLabel(where: string, [key, value]: [string, unknown]): boolean {
  if (!isLabelName(key)) throw labelError(where, key, "is no label's name");
  if (isLabelValue(value as string)) return true;
  throw labelError(where, key, `has a value that is no label's: ${JSON.stringify(value)}`);
}

function requireKubelets(label: string): boolean {
  if (isKubelets(label)) return true;
  throw labelError(
    "kubelet",
    label,
    "is a label that no kubelet may give its node; put it into the pool's spec.nodeLabels",
  );
}

/** The minor version of Kubernetes 1; 0 for any other text. */
function minorOf(text: string): number {
  const [, minor = 0] = (isText(text) && /^v?1\.(\d{1,3})(?:\.\d+)?$/.exec(text)) || [];
  return Number(minor);
}

const kubeletForms = {
  clusterDns: { is: listOf(isAddress), must: "must be IP addresses", usual: [] },
  clusterDomain: { is: isHost, must: "must be a domain", usual: "cluster.local" },
  runtime: { is: isOneOf("containerd", "crio"), must: "must be containerd or crio", usual: "containerd" },
  cgroupDriver: { is: isOneOf("systemd", "cgroupfs"), must: "must be systemd or cgroupfs", usual: "systemd" },
  /** Path of the kubelet in the image, or of the download. */
  binary: { is: isPlainPath, must: plainPath, usual: "/usr/local/bin/kubelet" },
  downloads: {
    is: (all: readonly Download[]) =>
      Array.isArray(all) && all.every((one) => readForms(one, "kubelet.downloads", downloadForms)),
    must: "must be a list",
    usual: [],
  },
  /** The kubelet's, for the check of `config`. */
  version: {
    is: (text: string) => minorOf(text) >= OLDEST_MINOR,
    must: `must be a version of Kubernetes from 1.${OLDEST_MINOR} on, quoted`,
    usual: `1.${OLDEST_MINOR}`,
  },
  /** Fields of KubeletConfiguration beyond those of the profile; checked by version. */
  config: {
    is: (fields: KubeletFields) => isRecord(fields),
    must: "must be a mapping of fields of KubeletConfiguration",
    usual: {},
  },
  resolvConf: {
    is: (text: string) => text === "auto" || isPlainPath(text),
    must: `must be auto, or ${plainPath.replace("must be ", "")}`,
    usual: "auto",
  },
  /** Given to the kubelet, so that the Node has them from its first moment on. */
  nodeLabels: {
    is: (labels: Readonly<Record<string, string>>) =>
      isRecord(labels) &&
      Object.entries(labels).every((one) => requireLabel("kubelet", one)) &&
      Object.keys(labels).every(requireKubelets),
    must: "must map names to texts",
    usual: {},
  },
  taints: {
    is: (all: readonly KubeletTaint[]) =>
      Array.isArray(all) && all.every((one) => readForms(one, "kubelet.taints", taintForms)),
    must: "must be a list",
    usual: [],
  },
};

export type KubeletOptions = Fields<typeof kubeletForms>;

/** As readForms does, and the kubelet's own configuration by its version. */
export function readKubelet(value: unknown): KubeletOptions {
  const options = readForms(value, "kubelet", kubeletForms);
  requireKubeletFields(options.config, minorOf(options.version), "kubelet.config");
  return options;
}

/** The options with the fields of a pool's KubeletConfigs, which replace the recipe's; of several, the last name wins. */
export function withPoolsFields(options: KubeletOptions, all: readonly PoolsKubeletConfig[]): KubeletOptions {
  const minor = minorOf(options.version);
  const fields = all.map(({ name, fields }) =>
    requireKubeletFields(fields, minor, `KubeletConfig ${name}: spec.kubeletConfig`),
  );
  return { ...options, config: Object.assign({}, options.config, ...fields) as KubeletFields };
}

const POOL = "the pool's spec";
const registrationForms = {
  nodeLabels: {
    ...kubeletForms.nodeLabels,
    is: (labels: Readonly<Record<string, string>>) =>
      isRecord(labels) && Object.entries(labels).every((one) => requireLabel(POOL, one)),
  },
  taints: {
    ...kubeletForms.taints,
    is: (all: readonly KubeletTaint[]) =>
      Array.isArray(all) && all.every((one) => readForms(one, `${POOL}.taints`, taintForms)),
  },
};

/**
 * The options with the pool's labels and taints, which replace those of the recipe with the same name. Labels that no kubelet
 * may give its node are left to the `workers` commands.
 */
export function withPoolsRegistration(options: KubeletOptions, registration: string): KubeletOptions {
  if (registration === "") return options;
  const { nodeLabels, taints } = readForms(JSON.parse(registration), POOL, registrationForms);
  const own = Object.entries(nodeLabels).filter(([label]) => isKubelets(label));
  const given = taints.map((taint) => readForms(taint, `${POOL}.taints`, taintForms));
  const isReplaced = (old: KubeletTaint) => given.some(({ effect, key }) => old.key === key && old.effect === effect);
  return {
    ...options,
    nodeLabels: { ...options.nodeLabels, ...Object.fromEntries(own) },
    taints: [...options.taints.filter((old) => !isReplaced(old)), ...given],
  };
}

export interface PoolsKubeletConfig {
  readonly name: string;
  readonly fields: unknown;
}

/** The config of the profile kubelet, without the credential, which every profile gets in the same way. */
export function kubeletConfig(options: KubeletOptions, caPem: string): Config {
  readKubelet(options);
  const { cgroupDriver, downloads, runtime } = options;
  return configOf({
    files: [
      fileEntry(SETTINGS, stringify(configuration(options))),
      fileEntry(AUTHORITY, caPem),
      fileEntry("/etc/modules-load.d/kubernetes.conf", "overlay\nbr_netfilter\n"),
      fileEntry("/etc/sysctl.d/90-kubernetes.conf", SYSCTLS),
      ...(runtime === "containerd" ? [fileEntry("/etc/containerd/config.toml", containerd(cgroupDriver))] : []),
      ...downloads.map(downloaded),
    ],
    units: [{ name: `${runtime}.service`, enabled: true }, enabledUnit("kubelet.service", unit(options))],
  });
}

/**
 * A host that forwards IPv6 ignores router advertisements, and loses its default route, unless accept_ra is 2. With the
 * dash in front it is no failure that a host has no IPv6.
 */
const SYSCTLS = `net.ipv4.ip_forward = 1
net.bridge.bridge-nf-call-iptables = 1
-net.bridge.bridge-nf-call-ip6tables = 1
-net.ipv6.conf.all.accept_ra = 2
-net.ipv6.conf.default.accept_ra = 2
-net.ipv6.conf.all.forwarding = 1
-net.ipv6.conf.default.forwarding = 1
`;

function downloaded({ hash, path, source }: Download): FileEntry {
  return { path, mode: 0o755, overwrite: true, contents: { source, verification: { hash } } };
}

/** Certificates come from the cluster, never from here: the first by the bootstrap credential, the others by the one before. */
function configuration(options: KubeletOptions): object {
  const { cgroupDriver, clusterDns, clusterDomain, config, resolvConf, runtime, taints } = options;
  return {
    ...config,
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: AUTHORITY },
    },
    authorization: { mode: "Webhook" },
    cgroupDriver,
    clusterDNS: clusterDns,
    clusterDomain,
    containerRuntimeEndpoint: `unix://${sockets[runtime]}`,
    rotateCertificates: true,
    serverTLSBootstrap: true,
    staticPodPath: "/etc/kubernetes/manifests",
    resolvConf: resolvConf === "auto" ? CHOSEN_RESOLV_CONF : resolvConf,
    ...(taints.length === 0 ? {} : { registerWithTaints: taints }),
  };
}

function containerd(cgroupDriver: string): string {
  return `version = 2

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = ${cgroupDriver === "systemd"}
`;
}

const CHOSEN_RESOLV_CONF = "/etc/kubernetes/resolv.conf";

/** Pods do not reach the stub of systemd-resolved, and a DNS server in a pod would ask itself. */
const CHOOSE_RESOLV_CONF = `if grep -q "^nameserver 127[.]0[.]0[.]5[34]" /etc/resolv.conf; then ln -sfn /run/systemd/resolve/resolv.conf ${CHOSEN_RESOLV_CONF}; else ln -sfn /etc/resolv.conf ${CHOSEN_RESOLV_CONF}; fi`;

function unit({ binary, nodeLabels, resolvConf, runtime }: KubeletOptions): string {
  const labels = Object.entries(nodeLabels).map((pair) => pair.join("="));
  return `[Unit]
Description=Kubernetes node agent
Wants=network-online.target ${runtime}.service
After=network-online.target ${runtime}.service

[Service]
ExecStartPre=/usr/bin/mkdir -p /etc/kubernetes/manifests
${resolvConf === "auto" ? `ExecStartPre=/bin/sh -c '${CHOOSE_RESOLV_CONF}'\n` : ""}ExecStart=${binary} --config=${SETTINGS} --bootstrap-kubeconfig=${BOOTSTRAP_KUBECONFIG} --kubeconfig=/var/lib/kubelet/kubeconfig --cert-dir=/var/lib/kubelet/pki${labels.length === 0 ? "" : ` --node-labels=${labels.join(",")}`}
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
`;
}
