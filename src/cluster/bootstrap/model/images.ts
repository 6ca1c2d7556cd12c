/** Which programs the bridge runs, and what memory they are given. */
import { placeholders, type Topology } from "./names.js";

/** `payload` is the OpenShift release's own image, `upstream` the Kubernetes project's, `drawbridge` ours. */
export type ImageKind = "payload" | "upstream" | "drawbridge";

export const imageKinds = ["payload", "upstream", "drawbridge"] as const satisfies readonly ImageKind[];

export interface Program {
  readonly image: string;
  readonly command: readonly string[];
}

export interface Resources {
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits?: { readonly memory: string };
}

export interface Images {
  readonly kind: ImageKind;
  readonly server: Program;
  readonly agent: Program;
  /** Server and agent need about the same. */
  readonly resources: Resources;
}

const goResources: Resources = { requests: { cpu: "40m", memory: "50Mi" } };

/**
 * Measured with Node: about 52 MiB resident when idle, 75 with 2,000 tunnels, up to 450 with 2,000 readers that stopped
 * (256 MiB of queues and 128 MiB of windows are the process's own bounds). Upstream's manifests ask for 50Mi and allow
 * 30Mi, which Node exceeds before its first tunnel.
 */
const nodeResources: Resources = { requests: { cpu: "40m", memory: "96Mi" }, limits: { memory: "640Mi" } };

interface Distribution {
  readonly server: string;
  readonly agent: string;
  /** Directory of the executables. */
  readonly bin: string;
  readonly resources: Resources;
}

const distributions: Readonly<Record<ImageKind, Distribution>> = {
  payload: { server: placeholders.image, agent: placeholders.image, bin: "/usr/bin", resources: goResources },
  upstream: {
    server: "registry.k8s.io/kas-network-proxy/proxy-server:v0.36.0",
    agent: "registry.k8s.io/kas-network-proxy/proxy-agent:v0.36.0",
    bin: "",
    resources: goResources,
  },
  // A name that no runtime looks for on the network: the image is imported from the OCI layout we ship.
  drawbridge: {
    server: "localhost/drawbridge",
    agent: "localhost/drawbridge",
    bin: "/usr/bin",
    resources: nodeResources,
  },
};

/** FIPS hosts want validated cryptography, which a payload has and Node's bundled OpenSSL is not. */
export const defaultImageKind: Readonly<Record<Topology, ImageKind>> = {
  openshift: "payload",
  kubeadm: "drawbridge",
  bare: "drawbridge",
};

export interface ChosenImages {
  readonly server: string | undefined;
  readonly agent: string | undefined;
  /** Of drawbridge: the tag of our own image. */
  readonly version: string | undefined;
}

export function imagesOf(kind: ImageKind, chosen: ChosenImages): Images {
  const { server, agent, bin, resources } = distributions[kind];
  const tag = kind === "drawbridge" ? `:${chosen.version ?? "latest"}` : "";
  return {
    kind,
    server: { image: chosen.server ?? server + tag, command: [`${bin}/proxy-server`] },
    agent: { image: chosen.agent ?? agent + tag, command: [`${bin}/proxy-agent`] },
    resources,
  };
}
