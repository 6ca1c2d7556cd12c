/** What the bootstrap host says of itself: addresses, listeners, readiness, metrics, certificates, the gather's manifest. */
import { certificatesIn } from "../../../../tunnel/pki/pem.js";
import { evidence } from "../evidence.js";
import type { Facts } from "./facts.js";

/** `ip addr`, in any of its formats. */
export function readAddresses(facts: Facts, file: string, text: string): void {
  const all = new Set([...text.matchAll(/\binet6? ([0-9a-f.:]+)/gi)].map(([, address]) => address!.toLowerCase()));
  if (all.size === 0) return;
  const shown = [...all].filter((address) => !/^(127\.|::1$|fe80)/.test(address)).join(", ");
  facts.addresses = { all, seen: evidence(file, `addresses of the host: ${shown}`) };
}

/** `netstat -l` or `ss -l`: the first address of a listening line is the local one in both. */
export function readListeners(facts: Facts, file: string, text: string): void {
  const ports = new Set<number>();
  for (const line of text.split("\n")) {
    const port = /\bLISTEN\b/.test(line) && !/^unix/.test(line) ? /[:.](\d+)\s/.exec(line)?.[1] : undefined;
    if (port !== undefined) ports.add(Number(port));
  }
  // With its heading it was asked, even if nothing listens.
  if (ports.size === 0 && !/Local Address/i.test(text)) return;
  const shown = [...ports].sort((a, b) => a - b).join(", ") || "none";
  facts.listeners = { ports, seen: evidence(file, `listening TCP ports: ${shown}`) };
}

/** The answer's status in the first line, its text behind. */
export function readReadiness(facts: Facts, file: string, text: string): void {
  const [status = "", ...body] = text.trim().split("\n");
  if (!/^[1-5]\d\d$/.test(status)) return;
  facts.ready = { status: Number(status), seen: evidence(file, `/readyz answered ${status} ${body.join(" ")}`, 1) };
}

const BACKENDS = /^konnectivity_network_proxy_server_ready_backends\{proxy_strategy="(\w+)"\} (\d+)/gm;

export function readMetrics(facts: Facts, file: string, text: string): void {
  const byStrategy = new Map([...text.matchAll(BACKENDS)].map(([, name, count]) => [name!, Number(count)] as const));
  if (byStrategy.size === 0) return;
  const shown = [...byStrategy].map(([name, count]) => `${name} ${count}`).join(", ");
  const line = text.slice(0, text.search(BACKENDS)).split("\n").length;
  facts.backends = { byStrategy, seen: evidence(file, `agents by strategy: ${shown}`, line) };
}

export function readCertificate(facts: Facts, file: string, text: string): void {
  try {
    for (const { certificate } of certificatesIn(text)) facts.certificates.push({ file, certificate });
  } catch {
    facts.observations.push(`${file} is not a certificate.`);
  }
}

export function readGatherManifest(facts: Facts, text: string): void {
  try {
    const manifest = JSON.parse(text) as { tool?: unknown; gatheredAt?: unknown; failures?: unknown };
    if (!String(manifest.tool).startsWith("drawbridge")) return;
    facts.kind = "drawbridge";
    facts.gatheredAt = new Date(String(manifest.gatheredAt));
    if (Array.isArray(manifest.failures)) facts.observations.push(...manifest.failures.map(String).slice(0, 20));
  } catch {
    // Then it is somebody else's.
  }
}
