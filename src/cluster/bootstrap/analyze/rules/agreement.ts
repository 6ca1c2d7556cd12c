/** Whether those who must agree do: the agents' target with certificate and host, the server with the egress configuration. */
import { isIP } from "node:net";
import { basename } from "node:path";
import { type Evidence, evidence } from "../evidence.js";
import type { Arguments, EgressSelection, Facts } from "../facts/facts.js";
import { flagValue } from "../facts/programs.js";
import type { Finding } from "../finding.js";
import { failing } from "./agents.js";

export function addresses(facts: Facts): Finding[] {
  return facts.agentArguments.flatMap(({ words, seen }) =>
    targets(words).flatMap((host) => [...notCertified(facts, host, seen), ...notOnHost(facts, host, seen)]),
  );
}

function targets(words: readonly string[]): string[] {
  const given = words.flatMap((word) => /^--proxy-server-host=(.+)$/.exec(word)?.[1] ?? []);
  return [...new Set(given.map((host) => host.replace(/^\[|\]$/g, "")))];
}

function notCertified(facts: Facts, host: string, seen: Evidence): Finding[] {
  const servers = facts.certificates.filter(({ file }) => basename(file) === "server.crt");
  const lacking = servers.filter(({ certificate }) =>
    isIP(host) === 0
      ? certificate.checkHost(host, { subject: "never" }) === undefined
      : certificate.checkIP(host) === undefined,
  );
  if (servers.length === 0 || lacking.length < servers.length) return [];
  const names = lacking.map(({ file, certificate }) =>
    evidence(file, `for ${certificate.subjectAltName ?? "no address"}`),
  );
  return [
    {
      id: "address-mismatch",
      likelihood: failing(facts, "san").length > 0 ? "certain" : "likely",
      message: `agents are told to dial ${host}, but the server's certificate is not for it`,
      evidence: [seen, ...names, ...(facts.addresses === undefined ? [] : [facts.addresses.seen])],
      remedy:
        "The address of the host changed after the certificates were made, or the manifests come from another host: make both anew for one address (bridge-address.json beside the certificates names the first one).",
    },
  ];
}

function notOnHost(facts: Facts, host: string, seen: Evidence): Finding[] {
  if (facts.addresses === undefined || isIP(host) === 0 || facts.addresses.all.has(host.toLowerCase())) return [];
  const silent =
    failing(facts, "timeout").length + failing(facts, "refused").length + failing(facts, "no-route").length;
  return [
    {
      id: "address-not-on-host",
      likelihood: silent > 0 ? "likely" : "possible",
      message: `agents are told to dial ${host}, which is on no interface of the bootstrap host`,
      evidence: [seen, facts.addresses.seen],
      remedy: `Unless something forwards ${host} to the host, give agents one of its own addresses: drawbridge bootstrap inject --bootstrap-ip ADDRESS, or --proxy-server-host of the DaemonSet.`,
    },
  ];
}

const modes: Readonly<Record<string, string>> = { GRPC: "grpc", HTTPConnect: "http-connect" };

export function egress(facts: Facts): Finding[] {
  return facts.serverArguments.flatMap((server) => facts.egress.flatMap((one) => disagreements(server, one)));
}

/** Also asked live, by doctor. */
export function disagreements(server: Arguments, selection: EgressSelection): Finding[] {
  const mode = flagValue(server.words, "mode") ?? "grpc";
  const socket = flagValue(server.words, "uds-name") ?? "";
  const wanted = modes[selection.protocol];
  const both = [server.seen, selection.seen];
  const found: Finding[] = [];
  if (wanted !== undefined && wanted !== mode) {
    found.push({
      id: "egress-disagrees",
      likelihood: "certain",
      message: `the kube-apiserver speaks ${selection.protocol} to a server that runs with --mode=${mode}`,
      evidence: both,
      remedy: `Start the server with --mode=${wanted}, or write proxyProtocol ${mode === "grpc" ? "GRPC" : "HTTPConnect"} into the egress configuration and restart the kube-apiserver.`,
    });
  }
  if (socket !== "" && selection.socket !== "" && !isSameSocket(socket, selection.socket)) {
    found.push({
      id: "egress-disagrees",
      likelihood: "certain",
      message: `the server listens on ${socket}, the kube-apiserver dials ${selection.socket}`,
      evidence: both,
      remedy: "Give both the same socket: --uds-name of the server, udsName of the egress configuration.",
    });
  }
  return found;
}

/** On an OpenShift bootstrap host one directory has two names. */
function isSameSocket(server: string, apiServer: string): boolean {
  return (
    server === apiServer ||
    server.replace("/etc/kubernetes/bootstrap-configs/", "/etc/kubernetes/config/") === apiServer
  );
}
