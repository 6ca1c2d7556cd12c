/**
 * The one address agents dial: told by flag or environment, or found in the host's own routes. Found means validated: a
 * wrong address costs an hour of bootstrap before anybody notices.
 */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { HostAddress, HostNetwork } from "./host-network.js";
import { canonical, type Family, familyOf, type Prefix, parsePrefix, sameAddress } from "./ip.js";
import { type AddressSource, search } from "./search.js";
import { type Circumstances, unusableBecause } from "./unusable.js";
import { lastingAddresses } from "./vips.js";

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
  readonly family: Family;
  /** Every name of the server certificate: the target first, then the host's other lasting addresses. */
  readonly sans: readonly string[];
  readonly source: AddressSource;
  readonly considered: readonly Consideration[];
  readonly warnings: readonly string[];
}

interface Surroundings extends Circumstances {
  readonly serviceNetworks: readonly Prefix[];
  /** The host's addresses without those that pass or move. */
  readonly owned: readonly HostAddress[];
}

interface Found {
  readonly source: AddressSource;
  readonly address: string;
  readonly considered: readonly Consideration[];
}

/** Throws DB_ADDRESS_REFUSED for an address that was told, DB_ADDRESS_NOT_FOUND when none is told and none can be found. */
export async function chooseAddress(input: AddressInput): Promise<AddressChoice> {
  const surroundings = await lookAround(input);
  const { source, address, considered } = told(input, surroundings) ?? (await found(input.host, surroundings));
  const target = canonical(address);
  const onThisHost = surroundings.hostAddresses.some((own) => sameAddress(own.address, target));
  return {
    target,
    family: familyOf(target) ?? 4,
    sans: distinct([target, ...surroundings.owned.map((own) => canonical(own.address))]),
    source,
    considered,
    warnings: onThisHost
      ? []
      : [`${target} is on no interface of this host; agents reach it only if something forwards it here.`],
  };
}

async function lookAround(input: AddressInput): Promise<Surroundings> {
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
    families: families.length > 0 ? families : [4, 6],
    owned: lastingAddresses(hostAddresses, vips),
  };
}

/** What a person said is used or refused, never replaced by something else. */
function told({ flag, env }: AddressInput, surroundings: Surroundings): Found | undefined {
  const [name] = ADDRESS_VARIABLES.filter((variable) => env[variable]);
  if (flag === undefined && name === undefined) return undefined;
  const source = flag === undefined ? "environment" : "flag";
  const from = flag?.name ?? `the variable ${name}`;
  const address = flag?.value ?? env[name ?? ""] ?? "";
  const reason = unusableBecause(address, surroundings);
  if (reason !== undefined) {
    throw new DrawbridgeError("DB_ADDRESS_REFUSED", `${from} is ${JSON.stringify(address)}: ${reason}.`);
  }
  return { source, address, considered: [{ source, outcome: "chosen", detail: `${from} is ${address}.` }] };
}

async function found(host: HostNetwork, surroundings: Surroundings): Promise<Found> {
  const { serviceNetworks, machineNetworks, owned } = surroundings;
  const considered: Consideration[] = [];
  const families = searchedFamilies(serviceNetworks, machineNetworks);
  for await (const { source, from, address, nothing } of search(host, families, machineNetworks, owned)) {
    const reason = address === undefined ? undefined : unusableBecause(address, surroundings);
    if (address === undefined) considered.push({ source, outcome: "nothing", detail: `${nothing}.` });
    else if (reason !== undefined) {
      considered.push({ source, outcome: "refused", detail: `${address} is ${from}, but ${reason}.` });
    } else {
      considered.push({ source, outcome: "chosen", detail: `${address} is ${from}.` });
      return { source, address, considered };
    }
  }
  const reasons = considered.map(({ detail }) => detail.replace(/\.$/, "")).join("; ");
  throw new DrawbridgeError("DB_ADDRESS_NOT_FOUND", `This host has no address that agents could dial: ${reasons}.`);
}

/** Only the primary family, where it is known: pods of the other one may not exist. */
function searchedFamilies(service: readonly Prefix[], machine: readonly Prefix[]): readonly Family[] {
  const [primary] = service;
  if (primary !== undefined) return [primary.family];
  return machine.length > 0 ? distinct(machine.map(({ family }) => family)) : [4, 6];
}

function prefixes(what: string, texts: readonly string[] = []): Prefix[] {
  return texts.map((text) => {
    const prefix = parsePrefix(text);
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
