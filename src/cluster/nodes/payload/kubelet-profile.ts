/** The profile kubelet: a machine with a kubelet and a container runtime, such as Fedora CoreOS. */
import { stringify } from "yaml";
import type { Config, FileEntry } from "../../ignition/config.js";
import { configOf, enabledUnit, file, isAddress, isHost, isOneLine, isPlainPath, requireForm } from "./parts.js";

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
