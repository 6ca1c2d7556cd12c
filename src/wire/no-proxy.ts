/** NO_PROXY as Go reads it: `*`, host names with their subdomains, `.suffix`, addresses, prefixes, each with a port. */
import ipaddr from "ipaddr.js";

export function bypassesProxy(noProxy: string, host: string, port: number): boolean {
  const name = host.toLowerCase().replace(/\.$/, "");
  const address = ipaddr.isValid(name) ? ipaddr.process(name) : undefined;
  if (name === "localhost" || address?.range() === "loopback") return true;
  return noProxy.split(",").some((entry) => covers(entry.trim().toLowerCase(), name, address, port));
}

type Address = ReturnType<typeof ipaddr.process>;

function covers(entry: string, name: string, address: Address | undefined, port: number): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  if (entry.includes("/")) return address !== undefined && inPrefix(entry, address);
  const { host, port: only } = splitPort(entry);
  if (only !== undefined && only !== port) return false;
  if (ipaddr.isValid(host)) return address !== undefined && ipaddr.process(host).toString() === address.toString();
  const suffix = host.replace(/^\*\./, ".");
  // A leading dot excludes the domain itself; a plain name covers itself and everything below it.
  return suffix.startsWith(".") ? name.endsWith(suffix) : name === suffix || name.endsWith(`.${suffix}`);
}

function inPrefix(entry: string, address: Address): boolean {
  if (!ipaddr.isValidCIDR(entry)) return false;
  const [network, length] = ipaddr.parseCIDR(entry);
  return network.kind() === address.kind() && (address as ipaddr.IPv4).match(network as ipaddr.IPv4, length);
}

function splitPort(entry: string): { host: string; port?: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry);
  if (match === null) return { host: entry };
  const host = match[1] ?? match[2] ?? "";
  return match[3] === undefined ? { host } : { host, port: Number(match[3]) };
}
