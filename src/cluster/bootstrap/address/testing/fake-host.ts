import type { HostAddress, HostNetwork } from "../host-network.js";

/** An address as `ip` would report it: `own("eth0", "10.0.0.5/24")`. */
export function own(
  device: string,
  prefix: string,
  marks: readonly string[] = [],
  more: Partial<Pick<HostAddress, "label" | "origin">> = {},
): HostAddress {
  const [address = "", length = ""] = prefix.split("/");
  const family = address.includes(":") ? 6 : 4;
  const rest = { label: undefined, origin: undefined, ...more };
  return { device, address, family, prefixLength: Number(length), marks: new Set(marks), ...rest };
}

/** A host that knows these addresses and these ways, and remembers what it was asked. */
export class FakeNetwork implements HostNetwork {
  readonly asked: string[] = [];
  readonly #addresses: readonly HostAddress[];
  readonly #sources: Readonly<Record<string, string>>;

  constructor(addresses: readonly HostAddress[], sources: Readonly<Record<string, string>> = {}) {
    this.#addresses = addresses;
    this.#sources = sources;
  }

  async sourceTowards(destination: string): Promise<string | undefined> {
    this.asked.push(destination);
    return this.#sources[destination];
  }

  async globalAddresses(): Promise<readonly HostAddress[]> {
    return this.#addresses;
  }
}
