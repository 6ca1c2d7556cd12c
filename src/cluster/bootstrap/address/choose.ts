/**
 * The one address agents dial: given by flag or environment, or found in the host's own routes. Found means validated: a
 * wrong address costs an hour of bootstrap before anybody notices.
 */

import ipaddr from "ipaddr.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { HostAddress, HostNetwork } from "./host-network.js";
import { type AddressFamily, canonical, familyOf, type Network, parseNetwork, sameAddress } from "./ip.js";

/** First the one that wins. The second is what OpenShift's installer reads when it writes bootstrap.ign. */
export const ADDRESS_VARIABLES = ["DRAWBRIDGE_BOOTSTRAP_NODE_IP", "OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP"] as const;

export interface AddressInput {
  /** When it stood on the command line. */
  readonly flag?: { readonly name: string; readonly value: string } | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The cluster's service networks; the first one's family is the primary one. Empty: not known. */
  readonly serviceNetworks?: readonly string[];
  /** Empty: not known. */
  readonly machineNetworks?: readonly string[];
  /** apiVIPs and ingressVIPs. */
  readonly vips?: readonly string[];
  readonly host: HostNetwork;
}

export interface Consideration {
  readonly source: AddressSource;
  readonly outcome: "chosen" | "refused" | "nothing";
  /** One sentence for `status` and `doctor`. */
  readonly detail: string;
}

export interface AddressChoice {
  /** What agents dial and the server certificate must name. */
  readonly target: string;
  readonly family: AddressFamily;
  /** Every name of the server certificate: the target first, then the host's other lasting addresses. */
  readonly sans: readonly string[];
  readonly source: AddressSource;
  readonly considered: readonly Consideration[];
  readonly warnings: readonly string[];
}

/** Throws DB_ADDRESS_REFUSED for an address that was given, DB_ADDRESS_NOT_FOUND when none is given and none can be found. */
export async function chooseAddress(input: AddressInput): Promise<AddressChoice> {
  const around = await lookAround(input);
  const considered: Consideration[] = [];
  for await (const { source, from, address, nothing, isGiven } of candidates(input, around)) {
    const reason = address === undefined ? undefined : unusableBecause(address, around);
    const is = isGiven ? `${from} is ${address}` : `${address} is ${from}`;
    if (address === undefined) considered.push({ source, outcome: "nothing", detail: `${nothing}.` });
    else if (reason === undefined) {
      considered.push({ source, outcome: "chosen", detail: `${is}.` });
      return choiceOf(source, address, considered, around);
    } else if (isGiven) {
      // A given address is used or refused, never replaced by another.
      throw new DrawbridgeError("DB_ADDRESS_REFUSED", `${from} is ${JSON.stringify(address)}: ${reason}.`);
    } else considered.push({ source, outcome: "refused", detail: `${is}, but ${reason}.` });
  }
  const reasons = considered.map(({ detail }) => detail.replace(/\.$/, "")).join("; ");
  throw new DrawbridgeError("DB_ADDRESS_NOT_FOUND", `This host has no address that agents could dial: ${reasons}.`);
}

function choiceOf(
  source: AddressSource,
  address: string,
  considered: readonly Consideration[],
  { hostAddresses, owned }: Surroundings,
): AddressChoice {
  const target = canonical(address);
  const onThisHost = hostAddresses.some((own) => sameAddress(own.address, target));
  return {
    target,
    family: familyOf(target) ?? 4,
    sans: distinct([target, ...owned.map((own) => canonical(own.address))]),
    source,
    considered,
    warnings: onThisHost
      ? []
      : [`${target} is on no interface of this host; agents reach it only if something forwards it here.`],
  };
}

type Surroundings = Awaited<ReturnType<typeof lookAround>>;

/** What is known of the cluster's networks and of the host. */
async function lookAround(input: AddressInput) {
  const serviceNetworks = prefixes("service network", input.serviceNetworks);
  const machineNetworks = prefixes("machine network", input.machineNetworks);
  const vips = (input.vips ?? []).map(checkedVip);
  const hostAddresses = await input.host.globalAddresses();
  const families = distinct(serviceNetworks.map(({ family }) => family));
  return {
    serviceNetworks,
    machineNetworks,
    vips,
    hostAddresses,
    /** What the service networks speak; all of them when nothing is known. */
    families: families.length > 0 ? families : ([4, 6] as const),
    /** The host's addresses without those that pass or move. */
    owned: lastingAddresses(hostAddresses, vips),
  };
}

/** Only the primary family, where it is known: pods of the other one may not exist. */
function searchedFamilies(service: readonly Network[], machine: readonly Network[]): readonly AddressFamily[] {
  const [primary] = service;
  if (primary !== undefined) return [primary.family];
  return machine.length > 0 ? distinct(machine.map(({ family }) => family)) : [4, 6];
}

function prefixes(what: string, texts: readonly string[] = []): Network[] {
  return texts.map((text) => {
    const prefix = parseNetwork(text);
    if (prefix) return prefix;
    throw new DrawbridgeError(
      "DB_ADDRESS_REFUSED",
      `the ${what} ${JSON.stringify(text)} is not a prefix such as 10.0.0.0/16.`,
    );
  });
}

function checkedVip(text: string): string {
  if (familyOf(text) !== undefined) return text;
  throw new DrawbridgeError("DB_ADDRESS_REFUSED", `the virtual address ${JSON.stringify(text)} is not an IP address.`);
}

function distinct<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

export type AddressSource = "flag" | "environment" | "route" | "machine-network" | "interface";

/** Where an address can come from; whether it can be used is decided elsewhere. */
interface Candidate {
  readonly source: AddressSource;
  /** Behind "is": "the source address of the route to ..."; the flag or variable where it was given. */
  readonly from: string;
  /** Undefined: nothing there, and `nothing` says so. */
  readonly address: string | undefined;
  readonly nothing?: string;
  readonly isGiven?: true;
}

/** Well-known addresses of the Internet; asking for the route to them sends nothing. */
const FAR_AWAY: Readonly<Record<AddressFamily, string>> = { 4: "1.1.1.1", 6: "2001:4860:4860::8888" };

/** The one that was given, otherwise those that can be found, best first. */
async function* candidates({ flag, env, host }: AddressInput, around: Surroundings): AsyncGenerator<Candidate> {
  const [variable] = ADDRESS_VARIABLES.filter((name) => env[name]);
  if (flag !== undefined) return yield { source: "flag", from: flag.name, address: flag.value, isGiven: true };
  if (variable !== undefined)
    return yield {
      source: "environment",
      from: `the variable ${variable}`,
      address: env[variable],
      isGiven: true,
    };
  const { serviceNetworks, machineNetworks, owned } = around;
  const families = searchedFamilies(serviceNetworks, machineNetworks);
  for (const family of families) {
    const destination = FAR_AWAY[family];
    yield {
      source: "route",
      from: `the source address of the IPv${family} route to ${destination}`,
      address: await host.sourceTowards(destination),
      nothing: `there is no IPv${family} route to ${destination}`,
    };
  }
  for (const network of machineNetworks.filter(({ family }) => families.includes(family))) {
    yield {
      source: "machine-network",
      from: `the source address of the route into machine network ${network.text}`,
      address: await host.sourceTowards(network.firstHost),
      nothing: `there is no route into machine network ${network.text}`,
    };
  }
  if (machineNetworks.length > 0) yield ownerOfMachineAddress(families, machineNetworks, owned);
}

/** Without any route the interfaces still say who the host is, if they leave no doubt. */
function ownerOfMachineAddress(
  families: readonly AddressFamily[],
  machine: readonly Network[],
  owned: readonly HostAddress[],
): Candidate {
  const inside = owned
    .filter(({ family }) => families.includes(family))
    .filter(({ address }) => machine.some((network) => network.contains(address)));
  const networks = machine.map(({ text }) => text).join(", ");
  const [only, second] = inside;
  const names = inside.map(({ address, device }) => `${address} on ${device}`).join(", ");
  return {
    source: "interface",
    from: `the only address of ${only?.device} in the machine networks`,
    address: second === undefined ? only?.address : undefined,
    nothing: second
      ? `several addresses are in the machine networks (${names}), and no route prefers one`
      : `no interface has an address in the machine networks ${networks}`,
  };
}

const KINDS: Readonly<Record<string, string>> = {
  loopback: "it is a loopback address, which only this host can reach",
  linkLocal: "it is a link-local address, which pods cannot route to",
  unspecified: "it is the unspecified address",
  multicast: "it is a multicast address",
  broadcast: "it is the broadcast address",
  ipv4Mapped: "it is an IPv4 address written as IPv6",
};

/** The end of a sentence that starts with the address; undefined when it can be used. */
function unusableBecause(text: string, around: Surroundings): string | undefined {
  const family = familyOf(text);
  if (family === undefined) return notAnAddress(text);
  const kind = KINDS[ipaddr.parse(text).range()];
  if (kind !== undefined) return kind;
  const { families, machineNetworks, vips, hostAddresses } = around;
  if (!families.some((each) => each === family))
    return `it is IPv${family}, and the service network is IPv${families.join(" and IPv")}`;
  if (vips.some((vip) => sameAddress(vip, text))) {
    return "it is a virtual address of the cluster (VIP), which moves to another host before the bridge is taken down";
  }
  const own = hostAddresses.find(({ address }) => sameAddress(address, text));
  const virtual = own && virtualBecause(own, hostAddresses);
  if (virtual !== undefined) return `it looks like a virtual address (VIP): ${virtual}`;
  if (machineNetworks.length > 0 && !machineNetworks.some((network) => network.contains(text))) {
    return `it is outside the machine networks ${machineNetworks.map((network) => network.text).join(", ")}`;
  }
  return undefined;
}

function notAnAddress(text: string): string {
  if (text.trim() === "" || text === "null") return "it is empty";
  if (text.includes("%")) return "an address with an interface behind it means something on this host only";
  if (/^\[.*\]$/.test(text)) return "an IPv6 address is written without brackets here";
  if (text.includes("/")) return "an address is written without a prefix length here";
  if (/^[\d.]+:\d+$/.test(text)) return "an address is written without a port here";
  if (/^[\d.]+$/.test(text) || text.includes(":")) return "it is not an IP address";
  // api-int resolves to a load balancer or VIP whose backends move to the control-plane nodes during bootstrap.
  return "it is a name, and names of load balancers (api, api-int) lead to other hosts before the bridge is taken down";
}

/** Why the address is taken for a virtual one, which moves to another host; undefined when it is the host's own. */
function virtualBecause(own: HostAddress, all: readonly HostAddress[]): string | undefined {
  if (own.origin === "keepalived") return `keepalived added it to ${own.device}`;
  if (own.label?.endsWith(":vip")) return `it carries the label ${own.label}`;
  if (own.family === 4 && own.marks.has("secondary")) return `it is a secondary address of ${own.device}`;
  if (isHostPrefix(own) && isBesideNetworkAddress(own, all)) {
    return `it is a single address (/${own.prefixLength}) beside the network address of ${own.device}, as keepalived adds them`;
  }
  return undefined;
}

function isHostPrefix({ family, prefixLength, marks }: HostAddress): boolean {
  // A DHCPv6 server also hands out /128 beside the router's /64; those are leases, and nothing keepalived adds is one.
  return family === 4 ? prefixLength === 32 : prefixLength === 128 && !marks.has("dynamic");
}

/** A cloud that gives its machines a /32 gives them nothing else on that interface. */
function isBesideNetworkAddress(own: HostAddress, all: readonly HostAddress[]): boolean {
  return all.some(
    (other) =>
      other.device === own.device &&
      other.family === own.family &&
      other.prefixLength < own.prefixLength &&
      !other.marks.has("temporary"),
  );
}

/** Addresses a certificate may name: the host's own, usable, and still its own tomorrow. */
function lastingAddresses(all: readonly HostAddress[], vips: readonly string[]): HostAddress[] {
  const passing = ["deprecated", "temporary", "tentative", "dadfailed"];
  return all.filter(
    (own) =>
      !passing.some((mark) => own.marks.has(mark)) &&
      virtualBecause(own, all) === undefined &&
      !vips.some((vip) => sameAddress(vip, own.address)),
  );
}
