/** To whom a name or an address belongs. */
import { canonicalAddress } from "./addresses.js";
import type { Case, NodeObject } from "./case.js";
import { heldBy, isAlive } from "./held.js";
import type { Worker } from "./inventory.js";

/**
 * Who else has it, for the end of a sentence; undefined when nobody has. `name` is `DNS:w0` or `IP:10.0.0.1`.
 *
 * The inventory and certificates that were approved are the word of the operator and of the approver. A Node's addresses are
 * its own word: it keeps others from getting what is free, and takes away nothing that is given.
 */
export function ownerOf(name: string, of: Case): string | undefined {
  return ownerByInventory(name, of) ?? ownerByCertificate(name, of) ?? ownerByReport(name, of);
}

function ownerByInventory(name: string, { inventory, nodeName }: Case): string | undefined {
  for (const worker of inventory.workers.values()) {
    if (worker.name !== nodeName && namesOfWorker(worker).includes(name)) return `${worker.name}, by the inventory`;
  }
  return undefined;
}

/** Of a worker that is neither expected nor a node any more nothing counts: its machine is gone. */
function ownerByCertificate(name: string, { inventory, memory, nodeName, nodes, now }: Case): string | undefined {
  for (const [other, remembered] of memory) {
    if (other === nodeName || !(inventory.workers.has(other) || nodes.has(other))) continue;
    const held = heldBy(remembered).find((one) => one.names.includes(name) && isAlive(one, now));
    if (held === undefined) continue;
    const isEndKnown = held.request === undefined && held.lost === undefined;
    return `${other}, by its certificate${isEndKnown ? ` until ${new Date(held.until).toISOString()}` : ""}`;
  }
  return undefined;
}

function ownerByReport(name: string, { nodeName, nodes, remembered, worker }: Case): string | undefined {
  const given = [`DNS:${nodeName}`, ...(worker === undefined ? [] : namesOfWorker(worker))];
  const isGiven = given.includes(name) || remembered?.serving?.names.includes(name) === true;
  for (const [other, node] of nodes) {
    if (other === nodeName || !namesOfNode(other, node).includes(name)) continue;
    if (isControlPlane(node)) return `${other} of the control plane, by its Node's addresses`;
    if (!isGiven) return `${other}, by its Node's addresses`;
  }
  return undefined;
}

function namesOfWorker({ dnsNames, ips, name }: Worker): string[] {
  return [...[name, ...dnsNames].map((one) => `DNS:${one}`), ...ips.map((one) => `IP:${one}`)];
}

function namesOfNode(name: string, { status }: NodeObject): string[] {
  const reported = (status?.addresses ?? []).map(({ address }) => {
    const ip = canonicalAddress(address);
    return ip === undefined ? `DNS:${address.toLowerCase().replace(/\.$/, "")}` : `IP:${ip}`;
  });
  return [`DNS:${name}`, ...reported];
}

/** Nodes cannot give themselves these labels. */
export function isControlPlane({ metadata }: NodeObject): boolean {
  return ["control-plane", "master"].some((role) => `node-role.kubernetes.io/${role}` in (metadata?.labels ?? {}));
}
