/** Parts of payloads: entries of a config, the proxy of the API, and the profile kubelet. */
import { isIP } from "node:net";
import { stringify } from "yaml";
import { splitHostPort } from "../../../base/address.js";
import { dataUrlOf } from "../../../base/data-url.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Config, type FileEntry, NEWEST, type Unit, versionOf } from "../../ignition/config.js";

/** A file that replaces what the machine's image or an earlier config has at its path. */
export function file(path: string, content: string, mode = 0o644): FileEntry {
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

/** Checks a value that is put into a script, unit or configuration as it is. Throws DB_PAYLOAD, which names the field. */
export function requireForm<T>(field: string, value: T, isSo: (value: T) => boolean, must: string): void {
  if (!isSo(value)) throw new DrawbridgeError("DB_PAYLOAD", `${field} ${must}, not ${JSON.stringify(value)}`);
}

const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?";
const name = new RegExp(`^${LABEL}(?:\\.${LABEL}){0,126}\\.?$`);

export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes("%");
}

export function isHost(text: string): boolean {
  return isAddress(text) || (text.length <= 254 && name.test(text));
}

function isPort(port: number): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 65_535;
}

/** `host:port`. */
function isServer(text: string): boolean {
  const split = splitHostPort(text);
  if ("error" in split || (text.startsWith("[") && !isAddress(split.host))) return false;
  return isHost(split.host) && /^[0-9]{1,5}$/.test(split.port) && isPort(Number(split.port));
}

function isImage(text: string): boolean {
  return /^[\w.:/@-]+$/.test(text);
}

/** systemd expands % and $ in commands, and divides them at spaces. */
export function isPlainPath(text: string): boolean {
  return /^(?:\/[\w.@+-]+)+$/.test(text) && !/\/\.{1,2}(?:\/|$)/.test(text);
}

/** A key with a line break would be two, the second with whatever rights it asks for. */
export function isOneLine(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text !== "" && !/[\u0000-\u001f\u007f\u0085\u2028\u2029]/.test(text);
}

/**
 * HAProxy on each node: the node reaches the API at an address that only it has, and HAProxy forwards connections to the API
 * server. Files and units are those of HyperShift.
 */
export interface ApiProxy {
  /** Given to the node's loopback interface. */
  readonly address: string;
  readonly port: number;
  /** `host:port` of the API server. */
  readonly server: string;
  /** An image with HAProxy. */
  readonly image: string;
}

const SET_UP = "/usr/local/bin/setup-apiserver-ip.sh";
const TEAR_DOWN = "/usr/local/bin/teardown-apiserver-ip.sh";
const CONFIGURATION = "/etc/kubernetes/apiserver-proxy-config";

/** Throws DB_PAYLOAD for a value that would be something else in a script or in haproxy.cfg. */
export function requireApiProxy({ address, image, port, server }: ApiProxy): void {
  requireForm("apiProxy.server", server, isServer, "must be host:port, with a host name or an address and a number");
  requireForm("apiProxy.address", address, isAddress, "must be an IP address");
  requireForm("apiProxy.port", port, isPort, "must be 1 to 65535");
  requireForm("apiProxy.image", image, isImage, "must be the pull spec of an image");
}

export function apiProxyConfig(proxy: ApiProxy): Config {
  requireApiProxy(proxy);
  return configOf({
    files: [
      file(SET_UP, script("replace", proxy.address), 0o755),
      file(TEAR_DOWN, script("del", proxy.address), 0o755),
      file(`${CONFIGURATION}/haproxy.cfg`, haproxy(proxy)),
      file("/etc/kubernetes/manifests/kube-apiserver-proxy.yaml", stringify(pod(proxy))),
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

export interface Download {
  readonly path: string;
  readonly source: string;
  /** `sha512-...`. */
  readonly hash: string;
}

export interface KubeletOptions {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly runtime: "containerd" | "crio";
  readonly cgroupDriver: string;
  /** Path of the kubelet in the image, or of the download. */
  readonly binary: string;
  /** Programs that the image does not have. */
  readonly downloads: readonly Download[];
}

export const BOOTSTRAP_KUBECONFIG = "/etc/kubernetes/bootstrap-kubeconfig";
const AUTHORITY = "/etc/kubernetes/ca.crt";
const SETTINGS = "/etc/kubernetes/kubelet.yaml";

const sockets = { containerd: "/run/containerd/containerd.sock", crio: "/run/crio/crio.sock" };

/** Throws DB_PAYLOAD for a value that would be something else in a unit or a configuration. */
export function requireKubeletOptions(options: KubeletOptions): void {
  const plainPath = "must be an absolute path of letters, digits, dots and dashes";
  const isDriver = (text: string) => /^(systemd|cgroupfs)$/.test(text);
  requireForm("kubelet.binary", options.binary, isPlainPath, plainPath);
  requireForm("kubelet.cgroupDriver", options.cgroupDriver, isDriver, "must be systemd or cgroupfs");
  requireForm("kubelet.clusterDomain", options.clusterDomain, isHost, "must be a domain");
  for (const each of options.clusterDns) requireForm("kubelet.clusterDns", each, isAddress, "must be IP addresses");
  for (const { hash, path, source } of options.downloads) {
    requireForm("the path of a download", path, isPlainPath, plainPath);
    requireForm("the source of a download", source, isOneLine, "must be a URL");
    requireForm("the hash of a download", hash, isOneLine, "must be sha512-... or sha256-...");
  }
}

/** The config of the profile kubelet, without the credential, which every profile gets in the same way. */
export function kubeletConfig(options: KubeletOptions, caPem: string): Config {
  requireKubeletOptions(options);
  const { cgroupDriver, downloads, runtime } = options;
  return configOf({
    files: [
      file(SETTINGS, stringify(configuration(options))),
      file(AUTHORITY, caPem),
      file("/etc/modules-load.d/kubernetes.conf", "overlay\nbr_netfilter\n"),
      file("/etc/sysctl.d/90-kubernetes.conf", "net.ipv4.ip_forward = 1\nnet.bridge.bridge-nf-call-iptables = 1\n"),
      ...(runtime === "containerd" ? [file("/etc/containerd/config.toml", containerd(cgroupDriver))] : []),
      ...downloads.map(downloaded),
    ],
    units: [{ name: `${runtime}.service`, enabled: true }, enabledUnit("kubelet.service", unit(options))],
  });
}

function downloaded({ hash, path, source }: Download): FileEntry {
  return { path, mode: 0o755, overwrite: true, contents: { source, verification: { hash } } };
}

/** Certificates come from the cluster, never from here: the first by the bootstrap credential, the others by the one before. */
function configuration({ cgroupDriver, clusterDns, clusterDomain, runtime }: KubeletOptions): object {
  return {
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

function unit({ binary, runtime }: KubeletOptions): string {
  return `[Unit]
Description=Kubernetes node agent
Wants=network-online.target ${runtime}.service
After=network-online.target ${runtime}.service

[Service]
ExecStartPre=/usr/bin/mkdir -p /etc/kubernetes/manifests
ExecStart=${binary} --config=${SETTINGS} --bootstrap-kubeconfig=${BOOTSTRAP_KUBECONFIG} --kubeconfig=/var/lib/kubelet/kubeconfig --cert-dir=/var/lib/kubelet/pki
Restart=always
RestartSec=5

[Install]
WantedBy=multi-user.target
`;
}
