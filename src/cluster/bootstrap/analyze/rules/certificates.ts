/** X.509: what agents say about the server's certificate, and what the certificates in the bundle are. */
import type { X509Certificate } from "node:crypto";
import { basename } from "node:path";
import { chainOf } from "../../../../tunnel/pki/inspect/chain.js";
import { type Evidence, evidence } from "../evidence.js";
import type { ConnectFailure, Facts } from "../facts/facts.js";
import type { Finding } from "../finding.js";
import { failing } from "./agents.js";

const REISSUE =
  "Make the certificates anew (drawbridge pki init --replace --dir DIR, or remove konnectivity-certs.done and run bootkube again) and hand them to server and agents together.";

export function certificates(facts: Facts): Finding[] {
  return [san(facts), expired(facts), notYetValid(facts), authority(facts), turnedAway(facts)].flat();
}

function san(facts: Facts): Finding[] {
  const said = spoken(facts, "san");
  if (said.length === 0) return [];
  const own = facts.certificates.filter(({ file }) => basename(file) === "server.crt");
  const names = own.map(({ file, certificate }) => evidence(file, `for ${certificate.subjectAltName ?? "no address"}`));
  return [
    {
      id: "certificate-san",
      likelihood: "certain",
      message: `agents refuse the server's certificate because it is not for the address they dial${dialled(facts)}`,
      evidence: [...said, ...names],
      remedy:
        "Make the server's certificate for that address (drawbridge pki init --replace --dir DIR --ip ADDRESS), or let agents dial one that it has (--proxy-server-host).",
    },
  ];
}

function dialled({ agentArguments }: Facts): string {
  const host = agentArguments
    .flatMap(({ words }) => words)
    .map((word) => /^--proxy-server-host=(.+)$/.exec(word)?.[1])
    .find(Boolean);
  return host === undefined ? "" : `, ${host}`;
}

function expired(facts: Facts): Finding[] {
  const said = spoken(facts, "expired");
  const at = facts.gatheredAt;
  const stored =
    at === undefined
      ? []
      : facts.certificates.filter(({ certificate }) => Date.parse(certificate.validTo) < at.getTime());
  if (said.length + stored.length === 0) return [];
  return [
    {
      id: "certificate-expired",
      likelihood: said.length > 0 ? "certain" : "likely",
      message: "a certificate of the bridge has expired",
      evidence: [...said, ...stored.map(({ file, certificate }) => evidence(file, `ended ${certificate.validTo}`))],
      remedy: `${REISSUE} If the certificate should still be valid, the node's clock is ahead: set it (chronyc makestep).`,
    },
  ];
}

function notYetValid(facts: Facts): Finding[] {
  const said = spoken(facts, "not-yet-valid");
  const at = facts.gatheredAt;
  const stored =
    at === undefined
      ? []
      : facts.certificates.filter(({ certificate }) => Date.parse(certificate.validFrom) > at.getTime());
  if (said.length + stored.length === 0) return [];
  return [
    {
      id: "certificate-not-yet-valid",
      likelihood: said.length > 0 ? "certain" : "likely",
      message:
        "a certificate of the bridge is not valid yet: clocks disagree between the host that made it and the nodes",
      evidence: [...said, ...stored.map(({ file, certificate }) => evidence(file, `starts ${certificate.validFrom}`))],
      remedy:
        "Set the clocks (chronyc makestep on nodes and bootstrap host); agents connect by themselves once the certificate's time has come.",
    },
  ];
}

function authority(facts: Facts): Finding[] {
  const said = spoken(facts, "unknown-authority");
  const unsigned = strangers(facts);
  if (said.length + unsigned.length === 0) return [];
  return [
    {
      id: "certificate-authority",
      likelihood: said.length > 0 ? "certain" : "likely",
      message: "the server's and the agents' certificates do not come from the same authority",
      evidence: [...said, ...unsigned],
      remedy: REISSUE,
    },
  ];
}

/** Certificates that the ca.crt beside them did not sign. */
function strangers({ certificates: found }: Facts): Evidence[] {
  const authorities = found.filter(({ file }) => basename(file) === "ca.crt").map(({ certificate }) => certificate);
  if (authorities.length === 0) return [];
  return found
    .filter(({ file, certificate }) => basename(file) !== "ca.crt" && !isSigned(certificate, authorities))
    .map(({ file, certificate }) =>
      evidence(file, `not signed by the ca.crt beside it; issuer ${oneLine(certificate.issuer)}`),
    );
}

function isSigned(certificate: X509Certificate, authorities: readonly X509Certificate[]): boolean {
  const { state } = chainOf(certificate, authorities);
  return state === "verified";
}

const oneLine = (name: string): string => name.split("\n").join(", ");

function turnedAway(facts: Facts): Finding[] {
  const said = spoken(facts, "turned-away");
  if (said.length === 0) return [];
  return [
    {
      id: "agent-refused",
      likelihood: "likely",
      message: "the server hangs up on agents as soon as they have shown their certificate: it does not accept it",
      evidence: said,
      remedy:
        "The agents' Secret must hold a certificate signed by the server's --cluster-ca-cert and still valid; compare them with drawbridge pki inspect. A TLS-inspecting proxy between them has the same effect.",
    },
  ];
}

function spoken(facts: Facts, kind: ConnectFailure): Evidence[] {
  return failing(facts, kind)
    .slice(0, 3)
    .flatMap(({ failure }) => failure!.seen.evidence.slice(-1));
}
