/** Names that a Service of the cluster can have, and the addresses of that Service. */

import type { Duplex } from "node:stream";
import { exchangeDns } from "../../resolver/exchange.js";
import { type AddressType, addressesFor, type DnsAnswer, encodeName, searchNames } from "../../wire/dns.js";
import type { ResolverAnswer, ResolverQuery } from "./answer-cache.js";
import type { Target } from "./errors.js";

export interface ServiceName {
  readonly name: string;
  readonly namespace: string;
}

/** Looks up the addresses of the cluster's Services. */
export interface ServiceAddresses {
  /** None for a Service that does not exist, is headless or names an outside host: DNS knows more about these. */
  find(service: ServiceName, signal: AbortSignal): Promise<readonly string[]>;
  close(): void;
}

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * `name.namespace`, `name.namespace.svc` and `name.namespace.svc.<cluster domain>`, and nothing else: with a longer name
 * an outside host could be mistaken for a Service.
 */
export function serviceNameOf(host: string, clusterDomain: string): ServiceName | undefined {
  const [name = "", namespace = "", ...rest] = host.toLowerCase().replace(/\.$/, "").split(".");
  const tail = rest.join(".");
  if (tail !== "" && tail !== "svc" && tail !== `svc.${clusterDomain.toLowerCase()}`) return undefined;
  return LABEL.test(name) && LABEL.test(namespace) ? { name, namespace } : undefined;
}

const NONE: ResolverAnswer = { addresses: [], ttlMs: undefined };

export function queryServices(services: ServiceAddresses, clusterDomain: string): ResolverQuery {
  return async (host, stop) => {
    const service = serviceNameOf(host, clusterDomain);
    if (service === undefined) return NONE;
    return { addresses: await services.find(service, stop), ttlMs: undefined };
  };
}

const DNS_SERVICES: readonly ServiceName[] = [
  { name: "dns-default", namespace: "openshift-dns" },
  { name: "kube-dns", namespace: "kube-system" },
];

/** Where the cluster's DNS is: as configured, or else the address of its Service. */
export function clusterDnsAddress(configured: Target | undefined, services: ServiceAddresses) {
  let found = configured;
  return {
    async find(stop: AbortSignal): Promise<Target> {
      if (found !== undefined) return found;
      for (const service of DNS_SERVICES) {
        const [host] = await services.find(service, stop);
        if (host === undefined) continue;
        found = { host, port: 53 };
        return found;
      }
      throw new Error("the cluster has neither a Service dns-default in openshift-dns nor kube-dns in kube-system");
    },
    /** It did not answer: it is looked up again next time. */
    forget(): void {
      found = configured;
    },
  };
}

export interface ClusterNamesOptions {
  /** A connection to the DNS server, through the tunnel. */
  readonly connect: (stop: AbortSignal) => Promise<Duplex>;
  readonly searchDomains: readonly string[];
  readonly ndots: number;
}

const TYPES: readonly AddressType[] = ["A", "AAAA"];
const NO_SUCH_NAME = 3;

/** Aliases that lead out of one answer into the next question; a chain in a row costs a connection for each. */
const MAX_QUESTIONS = 5;

export function queryClusterDns(options: ClusterNamesOptions): ResolverQuery {
  return async (name, stop) => {
    let failure: unknown;
    let lifeMs: number | undefined;
    for (const candidate of searchNames(name, options.searchDomains, options.ndots)) {
      if (encodeName(candidate) === undefined) continue;
      try {
        const answer = await addressesOf(candidate, options, stop);
        if (answer.addresses.length > 0) return answer;
        lifeMs = Math.min(lifeMs ?? Number.POSITIVE_INFINITY, answer.ttlMs ?? Number.POSITIVE_INFINITY);
      } catch (reason) {
        stop.throwIfAborted();
        failure ??= reason;
      }
    }
    // As long as one candidate is unknown, "there is no such name" would be a guess.
    if (failure !== undefined) throw failure;
    return { addresses: [], ttlMs: Number.isFinite(lifeMs) ? lifeMs : undefined };
  };
}

async function addressesOf(name: string, options: ClusterNamesOptions, stop: AbortSignal): Promise<ResolverAnswer> {
  let asked = name;
  let seconds = Number.POSITIVE_INFINITY;
  for (let question = 0; question < MAX_QUESTIONS; question += 1) {
    const found = await askBothFamilies(asked, options, stop);
    seconds = Math.min(seconds, found.seconds);
    const ttlMs = Number.isFinite(seconds) ? seconds * 1_000 : undefined;
    if (found.addresses.length > 0 || found.alias === undefined) return { addresses: found.addresses, ttlMs };
    asked = found.alias;
  }
  throw new Error(`the aliases of ${name} do not come to an end`);
}

interface Found {
  readonly addresses: readonly string[];
  readonly seconds: number;
  /** Where to ask next, when there is no address yet. */
  readonly alias: string | undefined;
}

async function askBothFamilies(name: string, { connect }: ClusterNamesOptions, stop: AbortSignal): Promise<Found> {
  const answers = new Map(await exchangeDns(await connect(stop), name, TYPES, stop));
  const missing = TYPES.filter((type) => !answers.has(type));
  if (missing.length > 0) {
    // Some servers hang up after one answer.
    const more = exchangeDns(await connect(stop), name, missing, stop).catch(() => []);
    for (const [type, answer] of await more) answers.set(type, answer);
  }
  const parts = TYPES.map((type) => readFamily(name, type, answers.get(type)));
  const good = parts.filter((part): part is Found => !(part instanceof Error));
  const addresses = good.flatMap((part) => part.addresses);
  const failure = parts.find((part) => part instanceof Error);
  if (addresses.length === 0 && failure !== undefined) throw failure;
  const counted = addresses.length === 0 ? good : good.filter((part) => part.addresses.length > 0);
  return {
    addresses,
    seconds: Math.min(...counted.map((part) => part.seconds)),
    alias: good.find((part) => part.alias !== undefined)?.alias,
  };
}

function readFamily(name: string, type: AddressType, answer: DnsAnswer | undefined): Found | Error {
  if (answer === undefined) return new Error(`the DNS server did not answer for ${type}`);
  const { rcode } = answer;
  if (rcode !== 0 && rcode !== NO_SUCH_NAME) return new Error(`the DNS server answered with error ${rcode}`);
  const found = addressesFor(name, type, answer);
  if (found === undefined) return new Error(`the aliases of ${name} lead in a circle`);
  const { addresses, end } = found;
  if (addresses.length > 0) return { addresses, seconds: found.seconds, alias: undefined };
  if (answer.truncated) return new Error("the DNS server's answer was cut short");
  const alias = rcode === 0 && end !== name.toLowerCase().replace(/\.$/, "") ? end : undefined;
  const seconds = alias === undefined ? (answer.negativeSeconds ?? Number.POSITIVE_INFINITY) : found.seconds;
  return { addresses: [], seconds, alias };
}
