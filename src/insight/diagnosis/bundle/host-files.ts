/** Files about the bootstrap host: addresses, listeners, readiness, metrics, certificates, the gather's manifest. */
import { samplesOf } from "../../../base/metrics/samples.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { type BundleFacts, evidence, lineWith } from "./facts.js";

/** `ip addr`, in any of its formats. */
export function readAddresses(facts: BundleFacts, file: string, text: string): void {
  const all = new Set([...text.matchAll(/\binet6? ([0-9a-f.:]+)/gi)].map(([, address]) => address!.toLowerCase()));
  if (all.size === 0) return;
  const shown = [...all].filter((address) => !/^(127\.|::1$|fe80)/.test(address)).join(", ");
  facts.hostAddresses = { all, seen: evidence(file, `addresses of the host: ${shown}`) };
}

/** `netstat -l` or `ss -l`: the first address of a listening line is the local one in both. */
export function readListeners(facts: BundleFacts, file: string, text: string): void {
  const ports = new Set<number>();
  for (const line of text.split("\n")) {
    const port = /\bLISTEN\b/.test(line) && !/^unix/.test(line) ? /[:.](\d+)\s/.exec(line)?.[1] : undefined;
    if (port !== undefined) ports.add(Number(port));
  }
  // A heading without lines means that nothing listens.
  if (ports.size === 0 && !/Local Address/i.test(text)) return;
  const shown = [...ports].sort((a, b) => a - b).join(", ") || "none";
  facts.listeningPorts = { ports, seen: evidence(file, `listening TCP ports: ${shown}`) };
}

/** The answer's status is in the first line, its text in the others. */
export function readReadiness(facts: BundleFacts, file: string, text: string): void {
  const [status = "", ...body] = text.trim().split("\n");
  if (!/^[1-5]\d\d$/.test(status)) return;
  facts.readiness = {
    status: Number(status),
    seen: evidence(file, `/readyz answered ${status} ${body.join(" ")}`, 1),
  };
}

const BACKENDS = "konnectivity_network_proxy_server_ready_backends";

export function readMetrics(facts: BundleFacts, file: string, text: string): void {
  const found = samplesOf(text, BACKENDS);
  if (found.length === 0) return;
  const byStrategy = new Map(found.map(({ labels, value }) => [labels.get("proxy_strategy") ?? "", value] as const));
  const shown = [...byStrategy].map(([name, count]) => `${name} ${count}`).join(", ");
  facts.backends = { byStrategy, seen: evidence(file, `agents by strategy: ${shown}`, lineWith(text, `${BACKENDS}{`)) };
}

export function readCertificate({ certificateFiles, bundle }: BundleFacts, file: string, text: string): void {
  try {
    for (const { certificate } of certificatesIn(text)) certificateFiles.push({ file, certificate });
  } catch {
    bundle.observations.push(`${file} is not a certificate.`);
  }
}

export function readGatherManifest({ bundle }: BundleFacts, _file: string, text: string): void {
  try {
    const manifest = JSON.parse(text) as { tool?: unknown; gatheredAt?: unknown; failures?: unknown };
    if (!String(manifest.tool).startsWith("drawbridge")) return;
    bundle.kind = "drawbridge";
    bundle.gatheredAt = new Date(String(manifest.gatheredAt));
    if (Array.isArray(manifest.failures)) bundle.observations.push(...manifest.failures.map(String).slice(0, 20));
  } catch {
    // Then it is another program's file.
  }
}
