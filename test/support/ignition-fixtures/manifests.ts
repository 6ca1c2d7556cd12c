/** The cluster's manifests that an injection reads, and filling so that a file has a real one's size. */

export interface Networks {
  readonly service: readonly string[];
  readonly machine: readonly string[];
  /** Virtual addresses of the API. */
  readonly shared?: readonly string[];
  readonly fips?: boolean;
}

const ordinary: Networks = { service: ["172.30.0.0/16"], machine: ["192.168.1.0/24"] };

export function clusterManifests(networks = ordinary, version?: string): Readonly<Record<string, string>> {
  const installConfig = [
    "apiVersion: v1",
    "baseDomain: example.com",
    ...(networks.fips ? ["fips: true"] : []),
    "networking:",
    "  machineNetwork:",
    ...networks.machine.map((cidr) => `  - cidr: ${cidr}`),
  ];
  return {
    "openshift/99_feature-gate.yaml":
      "apiVersion: config.openshift.io/v1\nkind: FeatureGate\nmetadata:\n  name: cluster\n",
    ...(version === undefined ? {} : { "openshift/openshift-install-manifests.yaml": installerConfigMap(version) }),
    "manifests/cluster-config.yaml": [
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata: {name: cluster-config-v1, namespace: kube-system}",
      "data:",
      "  install-config: |",
      ...installConfig.map((line) => `    ${line}`),
      "",
    ].join("\n"),
    "manifests/cluster-network-02-config.yml": [
      "apiVersion: config.openshift.io/v1",
      "kind: Network",
      "metadata: {name: cluster}",
      "spec:",
      "  serviceNetwork:",
      ...networks.service.map((cidr) => `  - ${cidr}`),
      "",
    ].join("\n"),
    "manifests/cluster-infrastructure-02-config.yml": [
      "apiVersion: config.openshift.io/v1",
      "kind: Infrastructure",
      "metadata: {name: cluster}",
      "status:",
      "  platformStatus:",
      "    type: BareMetal",
      `    baremetal: {apiServerInternalIPs: [${(networks.shared ?? []).map((ip) => `"${ip}"`).join(", ")}]}`,
      "",
    ].join("\n"),
  };
}

const installerConfigMap = (version: string) => `apiVersion: v1
data:
  invoker: user
  version: ${version}
kind: ConfigMap
metadata:
  name: openshift-install-manifests
  namespace: openshift-config
`;

/** Deterministic text that does not compress well: what custom resource definitions and certificates weigh. */
export function filling(bytes: number): string {
  let seed = 0x2545f491;
  const words: string[] = [];
  for (let length = 0; length < bytes; length += 9) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    words.push(seed.toString(16).padStart(8, "0"));
  }
  return words.join("\n").slice(0, bytes);
}
