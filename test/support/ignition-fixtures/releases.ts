/** How bootkube.sh differs between releases, as far as an injection can notice. */

export interface Shape {
  readonly name: string;
  /** What the installer leaves in its ConfigMap; undefined: a build that has none. */
  readonly version?: string;
  /** Libraries the script sources, beyond release-image.sh. */
  readonly sources: readonly ("service-record" | "cluster-gather" | "verify-api-server-urls")[];
  /** The line that begins with REQUIRED_PODS=. */
  readonly requiredPods: boolean;
  /** The last argument of the kube-apiserver's render. */
  readonly lastArgument: string;
  readonly integration: "none" | "off" | "on";
  readonly inPlace: "unknown" | "false" | "true";
  readonly spec: string;
}

const base = {
  sources: ["service-record", "cluster-gather", "verify-api-server-urls"],
  requiredPods: true,
  lastArgument: "--payload-version=$VERSION",
  integration: "none",
  inPlace: "false",
  spec: "3.2.0",
} as const satisfies Partial<Shape>;

const upstream = { ...base, lastArgument: `--operand-kubernetes-version="\${KUBERNETES_VERSION}" \\` } as const;

export const shapes = {
  "4.6": {
    ...base,
    name: "4.6",
    version: "v4.6.0",
    sources: [],
    requiredPods: false,
    lastArgument: "--config-output-file=/assets/kube-apiserver-bootstrap/config",
    inPlace: "unknown",
    spec: "3.1.0",
  },
  "4.8": {
    ...base,
    name: "4.8",
    version: "v4.8.0",
    sources: ["service-record", "cluster-gather"],
    lastArgument: "--cluster-config-file=/assets/manifests/cluster-network-02-config.yml",
  },
  "4.11": {
    ...base,
    name: "4.11",
    version: "4.11.3",
    sources: ["service-record", "cluster-gather"],
    lastArgument: "--infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml",
  },
  "4.12": {
    ...base,
    name: "4.12",
    version: "4.12.0",
    lastArgument: "--infra-config-file=/assets/manifests/cluster-infrastructure-02-config.yml",
  },
  "4.13": { ...base, name: "4.13", version: "4.13.7", lastArgument: `"\${ADDITIONAL_FLAGS[@]}"` },
  "4.14": { ...base, name: "4.14", version: "4.14.1" },
  "4.18": {
    ...base,
    name: "4.18",
    version: "4.18.0",
    lastArgument: `--operand-kubernetes-version="\${KUBERNETES_VERSION}"`,
  },
  "4.23 off": { ...upstream, name: "4.23 off", version: "4.23.0", integration: "off" },
  "4.23 on": { ...upstream, name: "4.23 on", version: "4.23.0", integration: "on" },
  "bootstrap in place": { ...base, name: "bootstrap in place", version: "4.14.1", inPlace: "true" },
} as const satisfies Record<string, Shape>;

export type ShapeName = keyof typeof shapes;

/** Those that get a bridge. */
export const injectable = ["4.6", "4.8", "4.11", "4.12", "4.13", "4.14", "4.18", "4.23 off"] as const;

/** Those whose payload has no image for it. */
export const needsImage: readonly ShapeName[] = ["4.6", "4.8"];
