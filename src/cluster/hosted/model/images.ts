/** Which programs run, and the memory of each. */
import type { HostedConfig } from "../config/config.js";

/** `payload` is the OpenShift release's own, `upstream` the Kubernetes project's, `drawbridge` ours. */
export const HOSTED_IMAGE_KINDS = ["payload", "upstream", "drawbridge"] as const;
export type HostedImageKind = (typeof HOSTED_IMAGE_KINDS)[number];
export const DEFAULT_IMAGE_KIND: HostedImageKind = "drawbridge";

export interface ProgramResources {
  readonly requests: { readonly cpu: string; readonly memory: string };
  readonly limits?: { readonly memory: string };
}

export interface HostedProgram {
  readonly image: string;
  readonly command: readonly string[];
  readonly resources: ProgramResources;
}

export type SidecarMode = "socks5" | "https";

export interface HostedImages {
  readonly kind: HostedImageKind;
  /** Whether the programs read replaced certificates while they run; others must be restarted for them. */
  readonly reloads: boolean;
  readonly server: HostedProgram;
  readonly agent: HostedProgram;
  readonly sidecar: Readonly<Record<SidecarMode, HostedProgram>>;
}

const requests = (cpu: string, memory: string): ProgramResources => ({ requests: { cpu, memory } });

/**
 * Measured with Node: about 52 MiB resident when idle, 75 with 2,000 tunnels, up to 450 with 2,000 readers that stopped
 * (256 MiB of queues and 128 MiB of windows are the process's own bounds). HyperShift asks for 50Mi for the Go programs
 * and 30Mi for its proxies, which Node exceeds before its first tunnel.
 */
const node = (cpu: string): ProgramResources => ({ ...requests(cpu, "96Mi"), limits: { memory: "640Mi" } });

const UPSTREAM_VERSION = "v0.36.0";
const upstreamImage = (program: string): string => `registry.k8s.io/kas-network-proxy/${program}:${UPSTREAM_VERSION}`;

/** `version` is drawbridge's own, the tag of its image. */
export function hostedImages({ kind, server, agent, sidecar }: HostedConfig["image"], version: string): HostedImages {
  const ours = `localhost/drawbridge:${version}`;
  const bin = kind === "upstream" ? "" : "/usr/bin";
  const isOurs = kind === "drawbridge";
  const imageOf = (program: string) => (kind === "upstream" ? upstreamImage(program) : ours);
  return {
    kind,
    reloads: isOurs,
    server: {
      image: server ?? imageOf("proxy-server"),
      command: [`${bin}/proxy-server`],
      resources: isOurs ? node("10m") : requests("10m", "50Mi"),
    },
    agent: {
      image: agent ?? imageOf("proxy-agent"),
      command: [`${bin}/proxy-agent`],
      resources: isOurs ? node("40m") : requests("40m", "50Mi"),
    },
    sidecar: { socks5: sidecarOf("socks5"), https: sidecarOf("https") },
  };

  /** Upstream has no such programs. */
  function sidecarOf(mode: SidecarMode): HostedProgram {
    const name = `konnectivity-${mode}-proxy`;
    if (kind === "payload")
      return {
        image: sidecar ?? ours,
        command: ["/usr/bin/control-plane-operator", name],
        resources: requests("10m", "30Mi"),
      };
    return { image: sidecar ?? ours, command: [`/usr/bin/${name}`], resources: node("10m") };
  }
}
