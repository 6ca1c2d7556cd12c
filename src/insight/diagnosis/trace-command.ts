/** The command that dials a target through a server as its callers do, with everything that the server itself knows of it. */
import { joinHostPort, splitHostPort } from "../../base/address.js";
import type { CertificateInfo, ListenerInfo, Overview } from "../observe/admin/contract.js";

type Server = Pick<Overview, "certificates" | "listeners" | "process">;

export function traceCommand(target: string, server: Server): string {
  if (server.process.role !== "server") return `drawbridge trace ${target} on the server's host`;
  const frontend = frontendOf(server.listeners, server.certificates);
  return `drawbridge trace ${target}${frontend?.isSocket === false ? ` --frontend ${frontend.flag}` : ""}`;
}

/** A socket needs no certificate; on TCP only its caller has one. Undefined: the process has no frontend. */
export function frontendOf(
  listeners: readonly ListenerInfo[],
  certificates: readonly Pick<CertificateInfo, "kind" | "names" | "use">[],
) {
  const frontends = listeners.filter(({ what }) => /^(?:grpc|http-connect) frontend$/.test(what));
  const found = frontends.find(({ address }) => address.startsWith("/")) ?? frontends[0];
  if (found === undefined) return undefined;
  const { what, address } = found;
  const mode = what.split(" ")[0]!;
  if (address.startsWith("/")) return { isSocket: true, address, flag: `${mode}+uds:${address}` };
  const own = certificates.find(({ kind, use }) => kind === "own" && use === what);
  return {
    ...{ isSocket: false, address },
    flag: `${mode}+tcp:${dialable(address, own?.names ?? [])},ca=FILE,cert=FILE,key=FILE`,
  };
}

/** One that listens on every address is dialled at a name of its certificate. */
function dialable(address: string, names: readonly string[]): string {
  const split = splitHostPort(address);
  if ("error" in split || !["", "0.0.0.0", "::"].includes(split.host)) return address;
  const name =
    names.map((each) => each.replace(/^(?:IP Address|DNS):/, "")).find((each) => !each.startsWith("*")) ?? "SERVER";
  return joinHostPort(name, Number(split.port));
}
