/** What agents say about the server's certificate, and what the certificates in a bundle are and are for. */
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { basename } from "node:path";
import { cause, type Judgement } from "../../../base/finding.js";
import { chainOf, isFor } from "../../../tunnel/pki/pem.js";
import { type ConnectFailure, evidence } from "../bundle/facts.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";
import { failing, type LogFacts } from "./agents.js";

const REISSUE =
  "Make new certificates (drawbridge pki init --replace --dir DIR, or remove konnectivity-certs.done and run bootkube again) and give them to server and agents together.";

type CertificateFile = Facts["certificateFiles"][number];

/** The last line of the first agents that failed for this reason. */
function quoted(facts: LogFacts, kind: ConnectFailure): string[] {
  return failing(facts, kind)
    .slice(0, 3)
    .flatMap(({ failure }) => failure?.seen.last ?? []);
}

const namesOf = (files: readonly CertificateFile[]): string[] =>
  files.map(({ file, certificate }) => evidence(file, `for ${certificate.subjectAltName ?? "no address"}`));

const ofServer = (files: readonly CertificateFile[]): CertificateFile[] =>
  files.filter(({ file }) => basename(file) === "server.crt");

const dialledHosts = (agents: Facts["agentPrograms"]): { readonly host: string; readonly seen: string }[] =>
  agents.flatMap(({ flags, seen }) => {
    const host = flags.get("proxy-server-host")?.replace(/^\[|\]$/g, "");
    return host === undefined ? [] : [{ host, seen }];
  });

export const certificateNames = defineCheck({
  id: "certificate-san",
  about: "Agents accept the names of the server's certificate",
  needs: ["agentLogs", "services", "agentPrograms", "certificateFiles"],
  judge(facts) {
    const lines = quoted(facts, "san");
    const [dialled] = dialledHosts(facts.agentPrograms);
    const message = `agents refuse the server's certificate because it is not for the address they dial${dialled === undefined ? "" : `, ${dialled.host}`}`;
    const remedy =
      "Make the server's certificate for that address (drawbridge pki init --replace --dir DIR --ip ADDRESS), or let agents dial one that it has (--proxy-server-host).";
    const all = [...lines, ...namesOf(ofServer(facts.certificateFiles))];
    return lines.length === 0 ? [] : [cause("certain", message, remedy, all)];
  },
});

/** Certain when agents say it, likely when only a file shows it. */
function either(lines: readonly string[], files: readonly string[], message: string, remedy: string): Judgement[] {
  if (lines.length + files.length === 0) return [];
  return [cause(lines.length > 0 ? "certain" : "likely", message, remedy, [...lines, ...files])];
}

export const certificateExpiry = defineCheck({
  id: "certificate-expired",
  about: "No certificate of the bridge has expired",
  needs: ["agentLogs", "services", "certificateFiles", "bundle"],
  judge(facts) {
    const at = facts.bundle.gatheredAt?.getTime() ?? 0;
    const stored = facts.certificateFiles.filter(({ certificate }) => Date.parse(certificate.validTo) < at);
    return either(
      quoted(facts, "expired"),
      stored.map(({ file, certificate }) => evidence(file, `ended ${certificate.validTo}`)),
      "a certificate of the bridge has expired",
      `${REISSUE} If the certificate should still be valid, the node's clock is ahead: set it (chronyc makestep).`,
    );
  },
});

export const certificateStart = defineCheck({
  id: "certificate-not-yet-valid",
  about: "Every certificate of the bridge is valid already",
  needs: ["agentLogs", "services", "certificateFiles", "bundle"],
  judge(facts) {
    const at = facts.bundle.gatheredAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const stored = facts.certificateFiles.filter(({ certificate }) => Date.parse(certificate.validFrom) > at);
    return either(
      quoted(facts, "not-yet-valid"),
      stored.map(({ file, certificate }) => evidence(file, `starts ${certificate.validFrom}`)),
      "a certificate of the bridge is not valid yet: clocks disagree between the host that made it and the nodes",
      "Set the clocks (chronyc makestep on nodes and bootstrap host); agents connect by themselves once the certificate's time has come.",
    );
  },
});

export const certificateAuthority = defineCheck({
  id: "certificate-authority",
  about: "Server and agents have certificates of one authority",
  needs: ["agentLogs", "services", "certificateFiles"],
  judge: (facts) =>
    either(
      quoted(facts, "unknown-authority"),
      unsigned(facts.certificateFiles),
      "the server's and the agents' certificates do not come from the same authority",
      REISSUE,
    ),
});

/** Certificates that the ca.crt in the same bundle did not sign. */
function unsigned(found: readonly CertificateFile[]): string[] {
  const authorities = found.filter(({ file }) => basename(file) === "ca.crt").map(({ certificate }) => certificate);
  if (authorities.length === 0) return [];
  const isSigned = (certificate: X509Certificate) => chainOf(certificate, authorities).state === "verified";
  return found
    .filter(({ file, certificate }) => basename(file) !== "ca.crt" && !isSigned(certificate))
    .map(({ file, certificate }) =>
      evidence(file, `not signed by the ca.crt beside it; issuer ${certificate.issuer.split("\n").join(", ")}`),
    );
}

export const agentCertificates = defineCheck({
  id: "agent-refused",
  about: "The server accepts the agents' certificates",
  needs: ["agentLogs", "services"],
  judge(facts) {
    const lines = quoted(facts, "rejected");
    const message =
      "the server closes connections of agents as soon as they have shown their certificate: it does not accept it";
    const remedy =
      "The agents' Secret must hold a certificate signed by the server's --cluster-ca-cert and still valid; compare them with drawbridge pki inspect. A TLS-inspecting proxy between them has the same effect.";
    return lines.length === 0 ? [] : [cause("likely", message, remedy, lines)];
  },
});

export const addressCertified = defineCheck({
  id: "address-mismatch",
  about: "The server's certificate is for the address that agents dial",
  needs: ["agentLogs", "services", "agentPrograms", "certificateFiles"],
  uses: ["hostAddresses"],
  judge(facts) {
    const servers = ofServer(facts.certificateFiles);
    const isCertified = (host: string) => servers.some(({ certificate }) => isFor(certificate, host));
    const likelihood = failing(facts, "san").length > 0 ? "certain" : "likely";
    const remedy =
      "The address of the host changed after the certificates were made, or the manifests come from another host: make both again for one address (bridge-address.json beside the certificates names the first one).";
    return dialledHosts(facts.agentPrograms)
      .filter(({ host }) => servers.length > 0 && !isCertified(host))
      .map(({ host, seen }) => {
        const message = `agents are told to dial ${host}, but the server's certificate is not for it`;
        return cause(likelihood, message, remedy, [seen, ...namesOf(servers), facts.hostAddresses?.seen ?? []].flat());
      });
  },
});

export const addressOnHost = defineCheck({
  id: "address-not-on-host",
  about: "Agents dial an address of the bootstrap host",
  needs: ["agentLogs", "services", "agentPrograms", "hostAddresses"],
  judge(facts) {
    const { all, seen: ofHost } = facts.hostAddresses!;
    const isSilent = (["timeout", "refused", "no-route"] as const).some((kind) => failing(facts, kind).length > 0);
    return dialledHosts(facts.agentPrograms)
      .filter(({ host }) => isIP(host) !== 0 && !all.has(host.toLowerCase()))
      .map(({ host, seen }) => {
        const message = `agents are told to dial ${host}, which is on no interface of the bootstrap host`;
        const remedy = `Unless something forwards ${host} to the host, give agents one of its own addresses: drawbridge bootstrap inject --bootstrap-ip ADDRESS, or --proxy-server-host of the DaemonSet.`;
        return cause(isSilent ? "likely" : "possible", message, remedy, [seen, ofHost]);
      });
  },
});
