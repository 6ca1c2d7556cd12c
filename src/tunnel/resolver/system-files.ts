/** /etc/hosts and /etc/resolv.conf, read again after they have changed. */
import { readFileSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { canonicalAddress } from "../wire/destination.js";

export interface NameServer {
  readonly address: string;
  readonly port: number;
}

export interface ResolvConf {
  readonly servers: readonly NameServer[];
  /** It names no server, so this host itself is asked. */
  readonly isDefault: boolean;
  readonly search: readonly string[];
  readonly ndots: number;
  /** For one question to one server. */
  readonly timeoutMs: number;
  /** How often each server is asked. */
  readonly attempts: number;
  readonly rotate: boolean;
}

/** Period of the checks for changes, as in Go. */
const LOOK_AGAIN_MS = 5_000;

/** The parsed content of a file, read again when the file has changed. While it cannot be read, the last content counts. */
export class WatchedFile<T> {
  readonly #path: string;
  readonly #parse: (text: string) => T;
  readonly #now: () => number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #version: string | undefined;
  #value: T | undefined;

  constructor(path: string, parse: (text: string) => T, now: () => number = () => performance.now()) {
    this.#path = path;
    this.#parse = parse;
    this.#now = now;
  }

  /** Throws only when it was never read and the process has no descriptor left to read it with. */
  get value(): T {
    if (this.#value === undefined || this.#now() - this.#lookedAt >= LOOK_AGAIN_MS) this.#look();
    return this.#value!;
  }

  #look(): void {
    this.#lookedAt = this.#now();
    try {
      const { mtimeMs, ctimeMs, size, ino } = statSync(this.#path);
      const version = `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
      if (version === this.#version) return;
      this.#value = this.#parse(readFileSync(this.#path, "utf8"));
      this.#version = version;
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (this.#value !== undefined) return;
      if (code === "EMFILE" || code === "ENFILE") throw reason;
      this.#value = this.#parse("");
    }
  }
}

/** Addresses by name, in lower case and without a last dot. */
export function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const canonical = canonicalAddress(address);
    if (canonical === undefined) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, "");
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [canonical]);
      else if (!known.includes(canonical)) known.push(canonical);
    }
  }
  return hosts;
}

const DNS_PORT = 53;
const MAX_SERVERS = 3;
const MAX_NDOTS = 15;
const MAX_SECONDS = 30;
const MAX_ATTEMPTS = 5;

/** Go waits five seconds, which is all that a dial has: a server that does not answer would leave no time for the next. */
const TIMEOUT_SECONDS = 2;

export function parseResolvConf(text: string, host: string = hostname()): ResolvConf {
  const servers: NameServer[] = [];
  let search = host.includes(".") ? [host.slice(host.indexOf(".") + 1)] : [];
  let options: string[] = [];
  for (const line of text.split("\n")) {
    const [keyword = "", ...words] = line
      .replace(/[#;].*/, "")
      .trim()
      .split(/\s+/);
    if (keyword === "nameserver") {
      const server = parseServer(words[0] ?? "");
      if (server !== undefined && servers.length < MAX_SERVERS) servers.push(server);
    } else if (keyword === "search" || keyword === "domain") {
      search = (keyword === "domain" ? words.slice(0, 1) : words).map((domain) => domain.replace(/\.$/, ""));
    } else if (keyword === "options") options = [...options, ...words];
  }
  const number = (name: string, otherwise: number, least: number, most: number): number => {
    const digits = options.findLast((option) => option.startsWith(`${name}:`))?.slice(name.length + 1) ?? "";
    return /^\d+$/.test(digits) ? Math.min(most, Math.max(least, Number(digits))) : otherwise;
  };
  const ownServers = ["127.0.0.1", "::1"].map((address) => ({ address, port: DNS_PORT }));
  return {
    servers: servers.length === 0 ? ownServers : servers,
    isDefault: servers.length === 0,
    search: search.filter((domain) => domain !== ""),
    ndots: number("ndots", 1, 0, MAX_NDOTS),
    timeoutMs: 1_000 * number("timeout", TIMEOUT_SECONDS, 1, MAX_SECONDS),
    attempts: number("attempts", 2, 1, MAX_ATTEMPTS),
    rotate: options.includes("rotate"),
  };
}

/** An address, or, as on BSD, `[address]:port`. */
function parseServer(text: string): NameServer | undefined {
  const [, bracketed, port] = /^\[([^\]]*)\]:(\d{1,5})$/.exec(text) ?? [];
  const address = canonicalAddress(bracketed ?? text);
  return address === undefined ? undefined : { address, port: Number(port ?? DNS_PORT) };
}
