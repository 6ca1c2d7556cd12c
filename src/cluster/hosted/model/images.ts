/** Which programs run, and the memory of each. */
import type { HostedConfig } from "../config/config.js";

/** `payload` is the OpenShift release's own, `upstream` the Kubernetes project's, `drawbridge` ours. */
export const HOSTED_IMAGE_KINDS = ["payload", "upstream", "drawbridge"] as const;
export const DEFAULT_IMAGE_KIND = "drawbridge";

export type SidecarMode = "socks5" | "https";

const requests = (cpu: string, memory: string) => ({ requests: { cpu, memory } });

/**
 * Measured with Node: about 52 MiB resident when idle, 75 with 2,000 tunnels, up to 450 with 2,000 readers that stopped
 * (256 MiB of queues and 128 MiB of windows are the process's own bounds). HyperShift asks for 50Mi for the Go programs
 * and 30Mi for its proxies, which Node exceeds before its first tunnel.
 */
const node = (cpu: string) => ({ ...requests(cpu, "96Mi"), limits: { memory: "640Mi" } });

const UPSTREAM_VERSION = "v0.36.0";
const upstreamImage = (program: string): string => `registry.k8s.io/kas-network-proxy/${program}:${UPSTREAM_VERSION}`;

/** The programs and how they are started. `version` is drawbridge's own, the tag of its image. */
export function hostedImages({ kind, server, agent, sidecar }: HostedConfig["image"], version: string) {
  const ours = `localhost/drawbridge:${version}`;
  const bin = kind === "upstream" ? "" : "/usr/bin";
  const isOurs = kind === "drawbridge";
  const program = (name: string, image: string | undefined, cpu: string) => ({
    image: image ?? (kind === "upstream" ? upstreamImage(name) : ours),
    command: [`${bin}/${name}`],
    resources: isOurs ? node(cpu) : requests(cpu, "50Mi"),
  });
  /** Upstream has no such programs. */
  const proxy = (mode: SidecarMode) => {
    const name = `konnectivity-${mode}-proxy`;
    const theirs = { command: ["/usr/bin/control-plane-operator", name], resources: requests("10m", "30Mi") };
    const own = { command: [`/usr/bin/${name}`], resources: node("10m") };
    return { image: sidecar ?? ours, ...(kind === "payload" ? theirs : own) };
  };
  return {
    kind,
    /** Whether the programs read replaced certificates while they run; others must be restarted for them. */
    reloads: isOurs,
    server: program("proxy-server", server, "10m"),
    agent: program("proxy-agent", agent, "40m"),
    sidecar: { socks5: proxy("socks5"), https: proxy("https") },
  };
}
