/** The programs that doctor knows, told from each other by the words they were started with. */
import { basename } from "node:path";
import { isProxyServer } from "../../cluster/bootstrap/settings/command-line.js";
import type { Role } from "./diagnosis.js";

export const programs = ["server", "agent", "sidecar", "ignition", "nodepool", "approver"] as const;

export type Program = (typeof programs)[number];

/** As people call it. */
export const titles: Readonly<Record<Program, string>> = {
  server: "proxy-server",
  agent: "proxy-agent",
  sidecar: "sidecar",
  ignition: "Ignition server",
  nodepool: "pool controller",
  approver: "CSR approver",
};

/** Which one a role is about; none on a workstation. */
export function programOf(role: Role): Program | undefined {
  if (role === "bootstrap") return "server";
  return role === "workstation" ? undefined : role;
}

/** HyperShift's names for what is a sidecar here. */
export const sidecarNames = ["sidecar", "konnectivity-socks5-proxy", "konnectivity-https-proxy"] as const;

const commands: Readonly<Record<Exclude<Program, "server" | "sidecar">, readonly string[]>> = {
  agent: ["agent"],
  ignition: ["ignition", "serve"],
  nodepool: ["nodepool", "controller"],
  approver: ["csr", "approver"],
};

/** `proxy-agent ...`, `node .../proxy-agent ...`, `drawbridge agent ...` */
export function isProgram(program: Program, words: readonly string[]): boolean {
  if (program === "server") return isProxyServer(words);
  // A runtime, the executable, and at most two words of a command.
  const names = words.slice(0, 4).map((word) => basename(word));
  const at = names.slice(0, 2).indexOf("drawbridge");
  const command = at === -1 ? [] : names.slice(at + 1);
  if (program === "sidecar") {
    const isCalledSo = (name: string | undefined) => sidecarNames.some((known) => known === name);
    return isCalledSo(command[0]) || names.slice(0, 2).some((name) => name !== "sidecar" && isCalledSo(name));
  }
  if (program === "agent" && names.slice(0, 2).includes("proxy-agent")) return true;
  return commands[program].every((word, index) => command[index] === word);
}
