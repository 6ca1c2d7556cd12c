/** What the host's own kernel says about its addresses and routes. It only reads: no packet is sent. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type CommandResult, runCommand } from "../../../base/run-command.js";
import type { AddressFamily } from "./ip.js";

export interface HostAddress {
  readonly device: string;
  readonly address: string;
  readonly family: AddressFamily;
  readonly prefixLength: number;
  /** As `ip` prints them: secondary, deprecated, temporary, tentative, dynamic, ... */
  readonly marks: ReadonlySet<string>;
  /** IPv4 only: `eth0:vip`. */
  readonly label: string | undefined;
  /** Who added it, where the kernel remembers: `keepalived`. */
  readonly origin: string | undefined;
}

export interface HostNetwork {
  /** The address this host would use towards the destination; undefined when it has no route there. */
  sourceTowards(destination: string): Promise<string | undefined>;
  /** Every address of global scope on an interface that is up. */
  globalAddresses(): Promise<readonly HostAddress[]>;
}

interface ReportedLink {
  readonly ifname?: string;
  readonly flags?: readonly string[];
  readonly addr_info?: readonly Readonly<Record<string, unknown>>[];
}

/** The network this process sees. `run` may execute in another network namespace. */
export function hostNetwork(run: typeof runCommand = runCommand): HostNetwork {
  const ask = async (...argv: string[]): Promise<unknown> =>
    parse(argv, await run(["ip", "-j", ...argv], { timeoutMs: 10_000, env: { LC_ALL: "C" } }));
  return {
    async sourceTowards(destination) {
      const family = destination.includes(":") ? "-6" : "-4";
      const [route] = ((await ask(family, "route", "get", destination)) ?? []) as { prefsrc?: unknown }[];
      return typeof route?.prefsrc === "string" ? route.prefsrc : undefined;
    },
    async globalAddresses() {
      const links = ((await ask("address", "show")) ?? []) as ReportedLink[];
      return links.filter((link) => link.flags?.includes("UP")).flatMap(addressesOf);
    },
  };
}

function addressesOf({ ifname = "", addr_info = [] }: ReportedLink): HostAddress[] {
  return addr_info
    .filter((info) => info.scope === "global" && typeof info.local === "string")
    .map((info) => ({
      device: ifname,
      address: String(info.local),
      family: info.family === "inet6" ? 6 : 4,
      prefixLength: Number(info.prefixlen),
      marks: new Set(Object.keys(info).filter((key) => info[key] === true)),
      label: typeof info.label === "string" ? info.label : undefined,
      origin: typeof info.protocol === "string" ? info.protocol : undefined,
    }));
}

/** `ip route get` ends with 2 where there is no route, which is an answer; everything else that fails is not. */
function parse(argv: readonly string[], { code, stdout, stderr }: CommandResult): unknown {
  if (code === 2 && argv.includes("get")) return undefined;
  try {
    if (code === 0) return JSON.parse(stdout.trim() || "[]");
  } catch {
    // Told below: an `ip` without -j prints text.
  }
  const complaint = stderr.trim().split("\n")[0] || "its answer is not JSON";
  throw new DrawbridgeError("DB_ADDRESS_LOOKUP", `ip -j ${argv.join(" ")} cannot be used: ${complaint}`);
}
