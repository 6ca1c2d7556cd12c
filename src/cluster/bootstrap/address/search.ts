/** Candidates for the address agents dial, each with how it was come by; whether it is good is decided elsewhere. */
import type { HostAddress, HostNetwork } from "./host-network.js";
import type { Family, Prefix } from "./ip.js";

export type AddressSource = "flag" | "environment" | "route" | "machine-network" | "interface";

interface Candidate {
  readonly source: AddressSource;
  /** Behind "is": "the source address of the route to ...". */
  readonly from: string;
  /** Undefined: nothing there, and `nothing` says so. */
  readonly address: string | undefined;
  readonly nothing: string;
}

/** Well-known addresses of the wide world; asking for the way to them sends nothing. */
const FAR_AWAY: Readonly<Record<Family, string>> = { 4: "1.1.1.1", 6: "2001:4860:4860::8888" };

/** Where an address can come from when nobody told one, best first. */
export async function* search(
  host: HostNetwork,
  families: readonly Family[],
  machine: readonly Prefix[],
  owned: readonly HostAddress[],
): AsyncGenerator<Candidate> {
  for (const family of families) {
    const destination = FAR_AWAY[family];
    yield {
      source: "route",
      from: `the source address of the IPv${family} route to ${destination}`,
      address: await host.sourceTowards(destination),
      nothing: `there is no IPv${family} route to ${destination}`,
    };
  }
  for (const network of machine.filter(({ family }) => families.includes(family))) {
    yield {
      source: "machine-network",
      from: `the source address of the route into machine network ${network.text}`,
      address: await host.sourceTowards(network.firstHost),
      nothing: `there is no route into machine network ${network.text}`,
    };
  }
  if (machine.length > 0) yield ownerOfMachineAddress(families, machine, owned);
}

/** Without any route the interfaces still say who the host is, if they leave no doubt. */
function ownerOfMachineAddress(
  families: readonly Family[],
  machine: readonly Prefix[],
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
