/** Why TLS with a peer that came to a listener was not agreed on, and what to do about it. */
import type { X509Certificate } from "node:crypto";
import { lifeProblem } from "../pki/manifest.js";
import { readableCertificates } from "../pki/pem.js";
import { quotedName } from "../pki/shown.js";
import type { Refusal } from "./peer-trust.js";
import { transportFailure } from "./transport-failure.js";

/** What a listener shows to those who come. */
export class OwnCertificate {
  /** Leaf first. */
  readonly #chain: readonly X509Certificate[];
  readonly words: string;

  constructor(cert: string) {
    this.#chain = readableCertificates(cert).map(({ certificate }) => certificate);
    const [leaf] = this.#chain;
    const names = leaf === undefined ? "" : ` (${quotedName(leaf.subject)}, of ${quotedName(leaf.issuer)})`;
    this.words = `this server's certificate${names}`;
  }

  /** Whether it, or an authority behind it, is out of its time; `words` go on from its name. */
  timeProblem(now = new Date()): { readonly words: string; readonly remedy: string } | undefined {
    for (const [index, { subject, validFrom, validTo }] of this.#chain.entries()) {
      const problem = lifeProblem({ notBefore: validFrom, notAfter: validTo }, now);
      if (problem === undefined || problem.id === "expires-soon") continue;
      const words = `${index === 0 ? "which" : `whose authority ${quotedName(subject)}`} ${problem.lasting}`;
      return { words, remedy: problem.id === "expired" ? RENEW : COMPARE_CLOCKS };
    }
    return undefined;
  }
}

const RENEW =
  "Renew this server's certificate, for example with drawbridge pki renew --dir DIR where its signer's key is; the file is read again by itself.";
const COMPARE_CLOCKS = "Compare this host's clock with that of the host that issued this server's certificate.";

/** `spoken`: what a listener takes, by its name in ALPN. Undefined for a port scan or a load balancer's probe that hangs up at once. */
export function failedHandshake(
  error: NodeJS.ErrnoException,
  spoken: string,
  own: () => OwnCertificate,
): Refusal | undefined {
  switch (error.code) {
    case "ECONNRESET":
      return undefined;
    case "ERR_SSL_HTTP_REQUEST":
      return { code: "DB_PEER_PLAIN_TEXT", reason: "it sent an HTTP request without TLS" };
    case "ERR_SSL_HTTPS_PROXY_REQUEST":
      return { code: "DB_PEER_PLAIN_TEXT", reason: "it sent an HTTP CONNECT request without TLS" };
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return { code: "DB_PEER_PLAIN_TEXT", reason: "its first bytes are not TLS" };
    case "ERR_SSL_NO_APPLICATION_PROTOCOL":
      return {
        code: "DB_PEER_WRONG_PORT",
        reason: `by ALPN it offered other protocols than ${spoken}, which is all that this listener takes`,
      };
    default:
      return distrust(error, own) ?? { code: "DB_PEER_TLS", reason: transportFailure(error) };
  }
}

/** What a client says that does not accept the certificate of the server. */
const ALERT_ABOUT_CERTIFICATE =
  /\balert ((?:bad |unsupported )?certificate(?: expired| unknown| revoked)?|unknown ca)$/;

/** Those that have one cause; under the others clients hide many, so that the code's own remedy stands. */
const REMEDIES: Readonly<Record<string, string>> = {
  "unknown ca":
    "Give the peer the CA that issued this server's certificate (--cluster-cert for agents, which take the CA as --ca-cert; --server-cert for callers); intermediate authorities belong into the server's file, behind its certificate.",
  "certificate expired":
    "Compare the peer's clock with this host's, by which this server's certificate is valid; if they agree, the CA in the peer's file has expired.",
  "unsupported certificate": "Issue this server a certificate whose extended key usage has serverAuth.",
  "certificate revoked": "Issue this server a new certificate, and find out why its issuer has revoked this one.",
};

function distrust(error: NodeJS.ErrnoException, own: () => OwnCertificate): Refusal | undefined {
  const alert = ALERT_ABOUT_CERTIFICATE.exec((error as { reason?: string }).reason ?? "")?.[1];
  if (alert === undefined) return undefined;
  const problem = alert === "certificate expired" || !(alert in REMEDIES) ? own().timeProblem() : undefined;
  const said = `it does not accept this server's certificate (TLS alert "${alert}")`;
  const reason = problem === undefined ? said : `${said}, ${problem.words}`;
  const remedy = problem?.remedy ?? REMEDIES[alert];
  return { code: "DB_PEER_DISTRUSTS", reason, ...(remedy !== undefined && { remedy }) };
}
