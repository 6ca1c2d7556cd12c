/** Checks of the bridge's certificates and addresses, by the agents' logs and the certificates in a bundle. */
import type { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { basename } from "node:path";
import { cause } from "../../../base/finding.js";
import { chainOf, isFor } from "../../../tunnel/pki/pem.js";
import { type Bundle, bundleCheck, evidence } from "../bundle/bundle.js";

const REISSUE =
  "Make new certificates (drawbridge pki init --replace --dir DIR, or remove konnectivity-certs.done and run bootkube again) and give them to server and agents together.";

type CertificateFile = Bundle["certificates"][number];

const namesOf = (files: readonly CertificateFile[]): string[] =>
  files.map(({ file, certificate }) => evidence(file, `for ${certificate.subjectAltName ?? "no address"}`));

const ofServer = ({ certificates }: Bundle): CertificateFile[] =>
  certificates.filter(({ file }) => basename(file) === "server.crt");

const dialledHosts = ({ agents }: Bundle): { readonly host: string; readonly seen: string }[] =>
  agents.flatMap(({ flags, seen }) => {
    const host = flags.get("proxy-server-host")?.replace(/^\[|\]$/g, "");
    return host === undefined ? [] : [{ host, seen }];
  });

const certificateNames = bundleCheck(
  "certificate-san",
  "Agents accept the names of the server's certificate",
  (bundle) => {
    const lines = bundle.failureLines("san");
    if (lines.length === 0) return undefined;
    const [dialled] = dialledHosts(bundle);
    const message = `agents refuse the server's certificate because it is not for the address they dial${dialled === undefined ? "" : `, ${dialled.host}`}`;
    const remedy =
      "Make the server's certificate for that address (drawbridge pki init --replace --dir DIR --ip ADDRESS), or let agents dial one that it has (--proxy-server-host).";
    return cause("certain", message, remedy, [...lines, ...namesOf(ofServer(bundle))]);
  },
);

/** Certain when agents say it, likely when only a file shows it. */
function either(lines: readonly string[], files: readonly string[], message: string, remedy: string) {
  if (lines.length + files.length === 0) return undefined;
  return cause(lines.length > 0 ? "certain" : "likely", message, remedy, [...lines, ...files]);
}

const certificateExpiry = bundleCheck("certificate-expired", "No certificate of the bridge has expired", (bundle) => {
  const at = bundle.gatheredAt?.getTime() ?? 0;
  const stored = bundle.certificates.filter(({ certificate }) => Date.parse(certificate.validTo) < at);
  return either(
    bundle.failureLines("expired"),
    stored.map(({ file, certificate }) => evidence(file, `ended ${certificate.validTo}`)),
    "a certificate of the bridge has expired",
    `${REISSUE} If the certificate should still be valid, the node's clock is ahead: set it (chronyc makestep).`,
  );
});

const certificateStart = bundleCheck(
  "certificate-not-yet-valid",
  "Every certificate of the bridge is valid already",
  (bundle) => {
    const at = bundle.gatheredAt?.getTime() ?? Number.POSITIVE_INFINITY;
    const stored = bundle.certificates.filter(({ certificate }) => Date.parse(certificate.validFrom) > at);
    return either(
      bundle.failureLines("not-yet-valid"),
      stored.map(({ file, certificate }) => evidence(file, `starts ${certificate.validFrom}`)),
      "a certificate of the bridge is not valid yet: clocks disagree between the host that made it and the nodes",
      "Set the clocks (chronyc makestep on nodes and bootstrap host); agents connect by themselves once the certificate's time has come.",
    );
  },
);

const certificateAuthority = bundleCheck(
  "certificate-authority",
  "Server and agents have certificates of one authority",
  (bundle) =>
    either(
      bundle.failureLines("unknown-authority"),
      unsigned(bundle.certificates),
      "the server's and the agents' certificates do not come from the same authority",
      REISSUE,
    ),
);

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

const agentCertificates = bundleCheck("agent-refused", "The server accepts the agents' certificates", (bundle) => {
  const lines = bundle.failureLines("rejected");
  if (lines.length === 0) return undefined;
  const message =
    "the server closes connections of agents as soon as they have shown their certificate: it does not accept it";
  const remedy =
    "The agents' Secret must hold a certificate signed by the server's --cluster-ca-cert and still valid; compare them with drawbridge pki inspect. A TLS-inspecting proxy between them has the same effect.";
  return cause("likely", message, remedy, lines);
});

const addressCertified = bundleCheck(
  "address-mismatch",
  "The server's certificate is for the address that agents dial",
  (bundle) => {
    const servers = ofServer(bundle);
    const isCertified = (host: string) => servers.some(({ certificate }) => isFor(certificate, host));
    const likelihood = bundle.failing("san").length > 0 ? "certain" : "likely";
    const remedy =
      "The address of the host changed after the certificates were made, or the manifests come from another host: make both again for one address (bridge-address.json beside the certificates names the first one).";
    return dialledHosts(bundle)
      .filter(({ host }) => servers.length > 0 && !isCertified(host))
      .map(({ host, seen }) => {
        const message = `agents are told to dial ${host}, but the server's certificate is not for it`;
        return cause(likelihood, message, remedy, [seen, ...namesOf(servers), bundle.hostAddresses?.seen ?? []].flat());
      });
  },
);

const addressOnHost = bundleCheck("address-not-on-host", "Agents dial an address of the bootstrap host", (bundle) => {
  const { hostAddresses } = bundle;
  if (hostAddresses === undefined) return undefined;
  const isSilent = (["timeout", "refused", "no-route"] as const).some((kind) => bundle.failing(kind).length > 0);
  return dialledHosts(bundle)
    .filter(({ host }) => isIP(host) !== 0 && !hostAddresses.all.has(host.toLowerCase()))
    .map(({ host, seen }) => {
      const message = `agents are told to dial ${host}, which is on no interface of the bootstrap host`;
      const remedy = `Unless something forwards ${host} to the host, give agents one of its own addresses: drawbridge bootstrap inject --bootstrap-ip ADDRESS, or --proxy-server-host of the DaemonSet.`;
      return cause(isSilent ? "likely" : "possible", message, remedy, [seen, hostAddresses.seen]);
    });
});

export const certificateChecks = [
  ...[certificateNames, certificateExpiry, certificateStart, certificateAuthority],
  ...[agentCertificates, addressCertified, addressOnHost],
];
