/**
 * Addresses of names, as Go's own resolver finds them: /etc/hosts first, then DNS with the servers, search domains and
 * options of /etc/resolv.conf. getaddrinfo would do the same on one of four threads of the process, where a few slow names
 * keep all others waiting, and could not be given up.
 */

import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { joinHostPort } from "../../base/address.js";
import { ShortLivedMap } from "../../base/short-lived.js";
import { canonicalAddress, judgedHost } from "../wire/destination.js";
import { goPhrase } from "../wire/dial-error.js";
import { type AddressType, addressesFor, encodeName, searchNames } from "../wire/dns.js";
import { askServer } from "./exchange.js";
import { type NameServer, parseHosts, parseResolvConf, type ResolvConf, WatchedFile } from "./system-files.js";

/** Its message is Go's, which API servers match on. */
export class LookupError extends Error {
  /** ENOTFOUND, ETIMEOUT, ESERVFAIL, or the system's reason why the question could not be asked. */
  readonly code: string;
  /** The cause for people: whom was asked, and what came of it. */
  readonly words: string;

  /** `server`: whose answer it is; `why`: in words that go on from `NAME cannot be looked up: `. */
  constructor(name: string, code: string, phrase: string, why = phrase, server?: NameServer) {
    const on = server === undefined ? "" : ` on ${joinHostPort(server.address, server.port)}`;
    super(`lookup ${name}${on}: ${phrase}`);
    this.code = code;
    this.words = `the name ${name} cannot be looked up: ${why} (${this.message})`;
  }
}

export type LookupDone = (found: readonly string[] | LookupError) => void;

export interface ResolverOptions {
  readonly hostsFile?: string;
  readonly resolvConf?: string;
  /** How many names may be looked up at once. */
  readonly maxPending?: number;
}

/** Two sockets each. */
const MAX_PENDING = 256;

interface Pending {
  readonly name: string;
  readonly waiting: Set<LookupDone>;
  readonly stop: AbortController;
}

/** What dials need of it. */
export type Lookups = Pick<Resolver, "lookup" | "find">;

export class Resolver {
  readonly #hosts: WatchedFile<ReturnType<typeof parseHosts>>;
  readonly #conf: WatchedFile<ResolvConf>;
  readonly #maxPending: number;
  /** Lookups by name, the oldest first. */
  readonly #pending = new ShortLivedMap<string, Pending>();
  #rotation = 0;

  constructor({ hostsFile = "/etc/hosts", resolvConf = "/etc/resolv.conf", maxPending }: ResolverOptions = {}) {
    this.#hosts = new WatchedFile(hostsFile, parseHosts);
    this.#conf = new WatchedFile(resolvConf, (text) => parseResolvConf(text));
    this.#maxPending = maxPending ?? MAX_PENDING;
  }

  /** Names that are being looked up. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Reads the files now, while there are descriptors to read them with. */
  prepare(): this {
    void this.#hosts.value;
    void this.#conf.value;
    return this;
  }

  /**
   * Calls `done` once, later, with the addresses in the order in which to try them, unless the returned function is called
   * before. So the caller sets the deadline. The name is in its one form (wire/destination.ts); equal names are
   * looked up together. When too many are pending, the one that has waited longest fails: quick names always get through.
   */
  lookup(name: string, done: LookupDone): () => void {
    let pending = this.#pending.get(name);
    if (pending === undefined) {
      if (this.#pending.size >= this.#maxPending) this.#dropOldest();
      pending = { name, waiting: new Set(), stop: new AbortController() };
      this.#pending.set(name, pending);
      void this.#run(pending);
    }
    const { waiting, stop } = pending;
    waiting.add(done);
    return () => {
      if (!waiting.delete(done) || waiting.size > 0) return;
      this.#forget(name, stop);
      stop.abort(new LookupError(name, "ECANCELLED", "nobody waits for it any more"));
    };
  }

  /** A lookup as a promise, which rejects with the signal's reason when that comes first. */
  find(name: string, signal: AbortSignal): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        cancel();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      const cancel = this.lookup(name, (found) => {
        signal.removeEventListener("abort", onAbort);
        if (found instanceof LookupError) reject(found);
        else resolve(found);
      });
    });
  }

  #dropOldest(): void {
    const [oldest] = this.#pending.values();
    if (oldest === undefined) return;
    this.#pending.delete(oldest.name);
    oldest.stop.abort("too many");
  }

  async #run({ name, waiting, stop }: Pending): Promise<void> {
    let found: readonly string[] | LookupError;
    try {
      found = ordered(await this.#addressesOf(name, stop.signal));
      if (found.length === 0) found = this.#unknown(name);
    } catch (reason) {
      found = this.#failure(name, reason, stop.signal);
    }
    this.#forget(name, stop);
    for (const done of [...waiting]) {
      waiting.delete(done);
      done(found);
    }
  }

  #failure(name: string, reason: unknown, stop: AbortSignal): LookupError {
    if (reason instanceof LookupError) return reason;
    if (stop.aborted) {
      const why = `more than ${this.#maxPending} names are being looked up, this one for the longest time`;
      return new LookupError(name, "ETIMEOUT", `too many dials wait for names (${why})`, why);
    }
    const { code = "", message } = reason as NodeJS.ErrnoException;
    return new LookupError(name, code, goPhrase(code) ?? `server misbehaving (${code || message})`);
  }

  #unknown(name: string): LookupError {
    if (isNobodys(name)) {
      return new LookupError(name, "ENOTFOUND", "no such host", "no DNS server is asked for names that end like this");
    }
    const { servers } = this.#conf.value;
    const why = `${describeServers(this.#conf.value)} ${servers.length === 1 ? "says" : "say"} that there is no such host`;
    return new LookupError(name, "ENOTFOUND", "no such host", why, servers[0]);
  }

  /** Another lookup of the same name may have begun. */
  #forget(name: string, stop: AbortController): void {
    if (this.#pending.get(name)?.stop === stop) this.#pending.delete(name);
  }

  async #addressesOf(name: string, stop: AbortSignal): Promise<readonly string[]> {
    if (isNobodys(name)) return [];
    const bare = judgedHost(name);
    const listed = this.#hosts.value.get(bare);
    if (listed !== undefined) return listed;
    if (lastLabel(bare) === "localhost") return ["127.0.0.1", "::1"];
    const conf = this.#conf.value;
    let failure: LookupError | undefined;
    for (const candidate of searchNames(name, conf.search, conf.ndots)) {
      if (encodeName(candidate) === undefined) continue;
      const found = await this.#askBothFamilies(conf, name, candidate, stop);
      if (!(found instanceof LookupError)) {
        if (found.length > 0) return found;
        continue;
      }
      failure ??= found;
      // Servers that say nothing say nothing about the next one either.
      if (found.code === "ETIMEOUT") break;
    }
    // As long as one candidate is unknown, "there is no such host" would be a guess.
    if (failure !== undefined) throw failure;
    return [];
  }

  async #askBothFamilies(
    conf: ResolvConf,
    name: string,
    candidate: string,
    stop: AbortSignal,
  ): Promise<readonly string[] | LookupError> {
    const first = conf.rotate ? this.#rotation++ : 0;
    const ask = (type: AddressType) => askServers(conf, first, name, candidate, type, stop);
    const families = await Promise.allSettled([ask("A"), ask("AAAA")]);
    const found: string[] = [];
    let failure: LookupError | undefined;
    for (const family of families) {
      if (family.status === "fulfilled") found.push(...family.value);
      else if (family.reason instanceof LookupError) failure ??= family.reason;
      else throw family.reason;
    }
    return found.length === 0 && failure !== undefined ? failure : found;
  }
}

const lastLabel = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

/** What other programs would take for an address; and RFC 6761's name of nobody. */
function isNobodys(name: string): boolean {
  const last = lastLabel(judgedHost(name));
  return /^(?:\d+|0x[0-9a-f]*)$/.test(last) || last === "invalid";
}

/** `the DNS server 10.0.0.10:53`, or all of them. */
function describeServers({ servers, isDefault }: Pick<ResolvConf, "servers" | "isDefault">): string {
  const all = servers.map(({ address, port }) => joinHostPort(address, port)).join(", ");
  const which = servers.length === 1 ? "the DNS server" : "the DNS servers";
  return `${which} ${all}${isDefault ? " (resolv.conf names none, so this host itself was asked)" : ""}`;
}

const NO_SUCH_NAME = 3;

/**
 * Each server in turn, as often as resolv.conf says, until one knows; `name` is what was asked for, for messages. Throws
 * errors of this process, such as too many open files, at once.
 */
async function askServers(
  conf: ResolvConf,
  first: number,
  name: string,
  candidate: string,
  type: AddressType,
  stop: AbortSignal,
): Promise<string[]> {
  const { servers, attempts, timeoutMs } = conf;
  let failure: LookupError | undefined;
  for (let turn = 0; turn < attempts * servers.length; turn++) {
    const server = servers[(first + turn) % servers.length]!;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      stop.throwIfAborted();
      const answer = await askServer(server, candidate, type, AbortSignal.any([stop, late]));
      if (answer.rcode === 0 || answer.rcode === NO_SUCH_NAME) {
        const found = addressesFor(candidate, type, answer)?.addresses ?? [];
        return found.map((address) => canonicalAddress(address)!);
      }
      const said = RCODES[answer.rcode] ?? `error ${answer.rcode}`;
      const why = `${describeServers({ ...conf, servers: [server] })} answered ${said}`;
      failure = new LookupError(name, "ESERVFAIL", `server misbehaving (error ${answer.rcode})`, why, server);
    } catch (reason) {
      stop.throwIfAborted();
      const { code = "", message } = reason as NodeJS.ErrnoException;
      if (code === "EMFILE" || code === "ENFILE") throw reason;
      failure = late.aborted
        ? new LookupError(name, "ETIMEOUT", "i/o timeout", silence(conf), server)
        : unaskable(name, conf, server, code || message);
    }
  }
  throw failure!;
}

/** By number, as far as servers use them for what is not an answer. */
const RCODES: Readonly<Record<number, string>> = { 1: "FORMERR", 2: "SERVFAIL", 4: "NOTIMP", 5: "REFUSED" };

function silence(conf: ResolvConf): string {
  const { timeoutMs, attempts } = conf;
  return `${describeServers(conf)} did not answer, asked ${attempts} times for ${timeoutMs / 1000} s each`;
}

function unaskable(name: string, conf: ResolvConf, server: NameServer, what: string): LookupError {
  const asked = describeServers({ ...conf, servers: [server] });
  const why =
    what === "ECONNREFUSED" ? `nothing listens as ${asked} (ECONNREFUSED)` : `${asked} cannot be asked (${what})`;
  return new LookupError(name, "ESERVFAIL", `server misbehaving (${what})`, why, server);
}

/**
 * The order in which a name's addresses are tried, the gist of RFC 6724: IPv6 first where this host has an address of the same kind (global, unique local, link-local, loopback) to come from,
 * then IPv4, then the IPv6 addresses that it has not. Within a family as they were found.
 */
export function ordered(addresses: readonly string[], own: () => readonly string[] = ownAddresses): readonly string[] {
  const four = addresses.filter((address) => isIPv4(address));
  if (four.length === 0 || four.length === addresses.length) return addresses;
  const kinds = new Set(own().map(kindOf));
  const six = addresses.filter((address) => !isIPv4(address));
  return [
    ...six.filter((address) => kinds.has(kindOf(address))),
    ...four,
    ...six.filter((address) => !kinds.has(kindOf(address))),
  ];
}

function kindOf(address: string): string {
  return isIPv4(address) ? "ipv4" : ipaddr.IPv6.parse(judgedHost(address)).range();
}

/** Interfaces rarely change, and a node has hundreds of them. */
const REMEMBERED_MS = 5_000;
let known: readonly string[] = [];
let knownAt = Number.NEGATIVE_INFINITY;

function ownAddresses(): readonly string[] {
  const now = performance.now();
  if (now - knownAt >= REMEMBERED_MS) {
    knownAt = now;
    known = addressesOfThisHost();
  }
  return known;
}

export function addressesOfThisHost(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
