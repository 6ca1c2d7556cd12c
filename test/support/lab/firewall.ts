import { must } from "./run.js";

/** From now on connections from this namespace to that address and port are refused, as by a firewall that answers. */
export async function rejectTcp(netns: string, host: string, port: number): Promise<void> {
  const match = ["-p", "tcp", "-d", host, "--dport", String(port)];
  await must(["iptables", "-A", "OUTPUT", ...match, "-j", "REJECT", "--reject-with", "tcp-reset"], { netns });
}
