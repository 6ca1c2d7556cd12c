/** Certificates: the files of this side, and what servers show in their handshakes. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { failed, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { describeFrontend } from "../../../tunnel/client/frontend.js";
import { isFor } from "../../../tunnel/pki/pem.js";
import { defineCheck } from "../check.js";
import type { Dialled, Facts } from "../facts.js";
import { judgeShown } from "../shown-certificate.js";

export const certificates = defineCheck({
  ...{ id: "certificates", about: "The certificates fit together and are valid", needs: ["certificates"] },
  judge({ certificates: { path, findings, certificates: all } }) {
    if (findings.length > 0) {
      return findings.map(({ severity, file, message, remedy }) =>
        (severity === "wrong" ? failed : warning)(`${file}: ${message}`, remedy),
      );
    }
    if (all.length === 0) return [failed(`${path} holds no certificate`, "Name the right directory with --pki.")];
    const earliest = all.reduce((one, other) => (other.notAfter < one.notAfter ? other : one));
    const lines = all.map(
      ({ file, subject, names }) => `${file}: ${subject}${names.length > 0 ? ` for ${names.join(", ")}` : ""}`,
    );
    return [ok(`${all.length} certificates fit together and last until ${earliest.notAfter.toISOString()}`, ...lines)];
  },
});

export const serverReachable = defineCheck({
  ...{ id: "server-reachable", about: "Agents reach the server and can trust it" },
  needs: ["agentPort", "role", "now"],
  judge({ agentPort, role, now }) {
    const { handshake, name, port, where } = agentPort;
    if (handshake.state !== "connected") {
      const [message, remedy] = {
        timeout: [
          `${where} does not answer: something on the way drops TCP ${port}`,
          `Let TCP ${port} through from nodes to the server's host: drawbridge firewall plan --platform PLATFORM says how.`,
        ],
        refused: [
          `nothing accepts connections on ${where}`,
          `Start the server with --agent-port=${port}, or correct --proxy-server-host of the agents; a firewall that rejects looks the same.`,
        ],
        "no-tls": [
          `${where} does not speak TLS as a proxy-server's agent port does`,
          "Check --proxy-server-port; is another program or a proxy there?",
        ],
        unreachable: [`${where} cannot be reached`, `Check the route: ip route get ${where.replace(/:\d+$/, "")}.`],
      }[handshake.state] as [string, string];
      return [failed(message, remedy, handshake.detail)];
    }
    const { found, evidence, isTrusted } = judgeShown(shownBy(agentPort, handshake.certificate, now), {
      certificate: "the server's certificate",
      consequence: "so agents refuse it",
      forAnotherName: `Make it again with that address (drawbridge pki init --replace --dir DIR ${isIP(name ?? "") === 0 ? "--dns" : "--ip"} ${name}), or let agents dial one that it has (--proxy-server-host).`,
      makeAgain:
        "Make the certificates again and hand them to server and agents together: drawbridge pki renew --all --dir DIR.",
      sameIssue: "Give server and agents certificates of the same issue.",
    });
    if (found.length > 0) return found;
    const who = role === "agent" ? "agents here reach" : "this host reaches";
    const unnamed = name === undefined ? "; not compared with the address that agents dial, give --address" : "";
    return [ok(`${who} the server at ${where}${isTrusted ? " and can trust it" : ""}${unnamed}`, evidence)];
  },
});

const shownBy = ({ where, name, ca }: Dialled, raw: Buffer, now: Date) => ({ where, raw, name, ca, now });

export const frontend = defineCheck({
  ...{ id: "frontend", about: "The sidecar reaches a frontend of the server", needs: ["frontends", "now"] },
  judge({ frontends, now }) {
    const found = frontends.map((each) => judgeFrontend(each, now));
    const hasUsable = found.some((judgements) => judgements.every(({ state }) => state === "ok"));
    // The next frontend is tried when one is out of reach: a spare that is missing stops nobody yet.
    return found
      .flat()
      .map((each) => (hasUsable && each.state === "failed" ? { ...each, state: "warning" as const } : each));
  },
});

function judgeFrontend(dialled: Facts["frontends"][number], now: Date): readonly Judgement[] {
  const { frontend: door } = dialled;
  const where = describeFrontend(door);
  if ("isListening" in dialled) {
    return dialled.isListening
      ? [ok(`the frontend ${where} accepts connections`)]
      : [
          failed(
            `no process listens on the frontend's socket ${where}`,
            "Start the proxy-server, or correct --frontend.",
          ),
        ];
  }
  const { handshake, port } = dialled;
  if (handshake.state !== "connected") {
    const messages = {
      timeout: `the frontend ${where} does not answer: something on the way drops TCP ${port}`,
      refused: `nothing accepts connections on the frontend ${where}`,
      "no-tls": `the frontend ${where} does not speak TLS as a proxy-server's frontend does`,
      unreachable: `the frontend ${where} cannot be reached`,
    } as const;
    const host = "host" in door ? door.host : "";
    const name = isIP(host) === 0 ? ` Does the name resolve here (getent hosts ${host})?` : "";
    const remedy = `Start the proxy-server there with --server-port=${port}, or correct --frontend.${name}`;
    return [failed(messages[handshake.state], remedy, handshake.detail)];
  }
  const { found, evidence, isTrusted } = judgeShown(shownBy(dialled, handshake.certificate, now), {
    certificate: "the frontend's certificate",
    consequence: "so the sidecar refuses it",
    forAnotherName:
      "Issue it again with that name, or give the sidecar the name that it has: --frontend=...,servername=NAME.",
    makeAgain: "Renew the server's --server-cert and --server-key; the server loads new files by itself.",
    sameIssue: "Give the sidecar's --ca-cert-path the authority that signed the server's --server-cert.",
  });
  if (found.length > 0) return found;
  return [ok(`the sidecar reaches the frontend ${where}${isTrusted ? " and can trust it" : ""}`, evidence)];
}

const RENEW = "drawbridge nodepool controller --issue-certificate keeps one for whatever address is published.";

export const ignitionCertificate = defineCheck({
  ...{ id: "ignition-certificate", about: "The Ignition server's certificate is for the address machines are given" },
  needs: ["ignitionPort", "ignitionNames", "now"],
  judge({ ignitionPort: { where, handshake }, ignitionNames, now }) {
    if (handshake.state !== "connected") {
      const message = `the Ignition server runs but does not serve machines on ${where}`;
      const remedy =
        "Read its log: it waits for its certificate (--cert-file, --cert-secret) before it opens the port.";
      return [failed(message, remedy, handshake.detail)];
    }
    const certificate = new X509Certificate(handshake.certificate);
    const shown = `it shows ${certificate.subject.replaceAll("\n", ", ")} for ${certificate.subjectAltName ?? "no address"}`;
    const found: Judgement[] = [];
    if (now.getTime() > Date.parse(certificate.validTo)) {
      found.push(failed(`the certificate ended ${certificate.validTo}, so machines ask for ever`, RENEW, shown));
    }
    if (typeof ignitionNames === "string")
      return [...found, skipped(ignitionNames, "Give the address that machines are given with --address.")];
    for (const name of ignitionNames.filter((one) => !isFor(certificate, one))) {
      const message = `machines are told ${name}, but the certificate is not for it, so they ask for ever`;
      const remedy = `Issue it again with ${name}, or correct ignitionEndpoint of the cluster. ${RENEW}`;
      found.push(failed(message, remedy, shown));
    }
    if (found.length > 0) return found;
    return [ok(`the certificate is for what machines are told: ${ignitionNames.join(", ")}`, shown)];
  },
});
