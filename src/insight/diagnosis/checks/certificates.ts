/** Certificates: the files of this side, and what servers show in their handshakes, judged as their clients do. */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { remedies } from "../../../base/errors/catalogue.js";
import { type Cause, DrawbridgeError, reasonOf } from "../../../base/errors/error.js";
import { coded, failed, failureOf, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { type Life, lifeProblem } from "../../../tunnel/pki/manifest.js";
import { certificatesIn, chainOf, isFor } from "../../../tunnel/pki/pem.js";
import { SERVER_AUTH } from "../../../tunnel/pki/request.js";
import { isForUse, shownName } from "../../../tunnel/pki/shown.js";
import type { Overview } from "../../observe/admin/contract.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";
import type { AgentDial, OwnPort } from "../host/as-agent.js";
import type { Dialled, Unanswered } from "../host/handshake.js";
import type { DoctorRole } from "../programs.js";

export const certificates = defineCheck({
  ...{ id: "certificates", about: "The certificates fit together and are valid", needs: ["certificates"] },
  judge({ certificates: { path, findings, certificates: all } }) {
    if (findings.length > 0)
      return findings.map(({ state, subject, message, remedy, evidence }) => ({
        ...{ state, message: `${subject}: ${message}`, remedy, evidence },
      }));
    if (all.length === 0) return failed(`${path} holds no certificate`, "Name the right directory with --pki.");
    const earliest = all.reduce((one, other) => (other.notAfter < one.notAfter ? other : one));
    const lines = all.map(
      ({ file, subject, names }) => `${file}: ${subject}${names.length > 0 ? ` for ${names.join(", ")}` : ""}`,
    );
    return ok(`${all.length} certificates fit together and last until ${earliest.notAfter.toISOString()}`, ...lines);
  },
});

/** What is wrong with the time of a certificate; nothing when it is valid now and not due yet. */
export function judgeLife(which: string, life: Life, now: Date, remedy: string, evidence: string): Judgement[] {
  const problem = lifeProblem(life, now);
  if (problem === undefined) return [];
  const message = `${which} ${problem.words}`;
  if (problem.id === "expires-soon") return [warning(message, remedy, evidence)];
  const clocks = "Set the clocks of both hosts (chronyc makestep).";
  return [failed(message, problem.id === "expired" ? remedy : clocks, evidence)];
}

/** A kind of TLS port, for messages: whose it is, who dials it, and what to do about each failure. */
interface TlsPort {
  /** "the server's", of its certificate. */
  readonly owner: string;
  /** "so agents refuse it" */
  readonly consequence: string;
  readonly unanswered: (state: Unanswered) => readonly [string, string];
  readonly forAnotherName: string;
  readonly makeAgain: string;
  readonly sameIssue: string;
}

/** `found` is empty when nothing is wrong; `isTrusted`: whether there were authorities to compare with. */
function judgePort(
  { ca, handshake, names, where }: Dialled,
  now: Date,
  { consequence, forAnotherName, makeAgain, owner, sameIssue, unanswered }: TlsPort,
) {
  if (handshake.state !== "connected") {
    const [message, remedy] = unanswered(handshake.state);
    return { found: [failed(message, remedy, handshake.detail)], evidence: "", isTrusted: false };
  }
  const certificate = new X509Certificate(handshake.certificate);
  const its = `${owner} certificate`;
  const evidence = shownBy(where, certificate);
  const authorities = ca?.text === undefined ? [] : certificatesIn(ca.text).map((one) => one.certificate);
  const found: Judgement[] = names
    .filter((name) => !isFor(certificate, name))
    .map((name) => failed(`${its} is not for ${name}, ${consequence}`, forAnotherName, evidence));
  // That it ends soon is said of the files.
  const life = { notBefore: certificate.validFrom, notAfter: certificate.validTo };
  found.push(...judgeLife(its, life, now, makeAgain, evidence).filter(({ state }) => state === "failed"));
  if (authorities.length > 0 && chainOf(certificate, authorities).state !== "verified")
    found.push(failed(`the authority in ${ca?.file} did not sign ${its}`, sameIssue, evidence));
  return { found, evidence, isTrusted: authorities.length > 0 };
}

const unansweredMessages = (where: string, port: number, kind: string) => ({
  timeout: `${where} does not answer: something in between drops TCP ${port}`,
  refused: `nothing accepts connections on ${where}`,
  "no-tls": `${where} does not speak TLS as a proxy-server's ${kind} does`,
  unreachable: `${where} cannot be reached`,
  unresolved: `the name in ${where} cannot be resolved here`,
});

export const serverReachable = defineCheck({
  ...{ id: "server-reachable", about: "Agents reach the server, and each trusts the other" },
  ...{ needs: ["agentPorts", "role", "now"], uses: ["overview", "health"] },
  judge({ agentPorts, role, now, overview, health }) {
    const unconnected = role === "agent" ? whyUnconnected(overview, health) : undefined;
    const hasNoAgents = role !== "agent" && overview?.agents?.length === 0;
    return agentPorts.flatMap((port) => {
      const found =
        "ownCertificate" in port
          ? judgeOwn(port, now)
          : "handshake" in port
            ? judgeUnknown(port, role, now)
            : [judgeDial(port, unconnected)];
      return hasNoAgents ? found.map(unproven) : found;
    });
  },
});

/** Why the running agent has no server, as it says itself; undefined when it has one, or does not say. */
function whyUnconnected(overview: Overview | undefined, health: Facts["health"] | undefined): Cause | undefined {
  if (overview !== undefined) {
    if (overview.servers === undefined || overview.servers.length > 0) return undefined;
    const { unreadyCauses = [], unreadyReason = NOT_CONNECTED } = overview.process;
    return unreadyCauses[0] ?? { sentence: unreadyReason };
  }
  const answer = health?.answer;
  if (answer === undefined || typeof answer === "string" || answer.status === 200) return undefined;
  const said = answer.body.trim().split("\n").at(-1) ?? "";
  return { sentence: said.replace(/^\[-\]server-connected failed: /, "") || NOT_CONNECTED };
}

const NOT_CONNECTED = "it is not connected to a server";

/** What is seen from a server's own host does not show that agents reach it while none has. */
function unproven(judged: Judgement): Judgement {
  if (judged.state !== "ok") return judged;
  return { ...skipped(`${judged.message}; no agent is connected, so whether agents reach it is not known here`) };
}

/** The server here, by its certificate's file and a TCP connection. */
function judgeOwn({ failure, file, name, ownCertificate, where }: OwnPort, now: Date): Judgement[] {
  const its = `the server's certificate (${file})`;
  const { subject, subjectAltName, validFrom, validTo } = ownCertificate;
  const evidence = `${shownName(subject)} for ${subjectAltName ?? "no address"}`;
  const found: Judgement[] = failure === undefined ? [] : [failureOf(failure)];
  if (name !== undefined && !isFor(ownCertificate, name))
    found.push(coded("DB_TLS_SERVER_NAME", `${its} is not for ${name}, so agents refuse it`, evidence));
  if (!isForUse(ownCertificate, SERVER_AUTH))
    found.push(coded("DB_TLS_SERVER_USE", `${its} is not for TLS servers (serverAuth), so agents refuse it`, evidence));
  const life = { notBefore: validFrom, notAfter: validTo };
  const remedy = remedies.DB_TLS_SERVER_EXPIRED;
  found.push(...judgeLife(its, life, now, remedy, evidence).filter(({ state }) => state === "failed"));
  if (found.length > 0) return found;
  const unnamed = name === undefined ? "; not compared with the address that agents dial, give --address" : "";
  return [
    ok(`the server takes connections at ${where}, and its certificate is valid for a server${unnamed}`, evidence),
  ];
}

/** The server was dialled with an agent's own certificate and authorities. */
function judgeDial({ certificate, failure, where }: AgentDial, unconnected: Cause | undefined): Judgement {
  const evidence = certificate === undefined ? [] : [shownBy(where, certificate)];
  if (failure instanceof DrawbridgeError) return { ...failureOf(failure), evidence };
  if (failure !== undefined) return failed(reasonOf(failure), CHECK_WAY, ...evidence);
  if (unconnected !== undefined) {
    const { code, remedy = unconnectedRemedy(unconnected.sentence), sentence } = unconnected;
    const message = `TLS with the server at ${where} works, but the agent is not connected: ${sentence.replace(/\.$/, "")}`;
    return { ...failed(message, remedy, ...evidence), code };
  }
  return ok(`the server at ${where} takes the agent's connection, and the agent trusts it`, ...evidence);
}

const CHECK_WAY =
  "Check --proxy-server-host, and HTTPS_PROXY and NO_PROXY in the agent's environment: whatever is in between has to lead to the server.";

/** For words without a remedy: those of another program, or of a server that hides its reason. */
function unconnectedRemedy(reason: string): string {
  if (/token/i.test(reason))
    return "The server refuses the agent's token, or cannot have it reviewed: its log has a line for each refused agent with cause and remedy, and so has drawbridge doctor beside the server (check refused-peers).";
  return "Read the agent's log, and the server's, which has a line for each refused agent (drawbridge doctor beside the server: check refused-peers).";
}

const shownBy = (where: string, { subject, subjectAltName }: X509Certificate): string =>
  `${where} shows ${subject.replaceAll("\n", ", ")} for ${subjectAltName ?? "no address"}`;

/** The server was dialled without an agent's certificate: whether it accepts one is not known. */
function judgeUnknown(agentPort: Dialled, role: DoctorRole, now: Date): readonly Judgement[] {
  const { port, where, names } = agentPort;
  const [name] = names;
  const remedies = {
    timeout: `Let TCP ${port} through from nodes to the server's host: drawbridge firewall plan --platform PLATFORM says how.`,
    refused: `Start the server with --agent-port=${port}, or correct --proxy-server-host of the agents; a firewall that rejects looks the same.`,
    "no-tls": "Check --proxy-server-port; is another program or a proxy there?",
    unreachable: `Check the route: ip route get ${where.replace(/:\d+$/, "")}.`,
    unresolved: `Correct the name in --proxy-server-host, or the resolver: getent hosts ${name ?? "NAME"}; /etc/resolv.conf names the servers.`,
  };
  const { found, evidence, isTrusted } = judgePort(agentPort, now, {
    owner: "the server's",
    consequence: "so agents refuse it",
    unanswered: (state) => [unansweredMessages(where, port, "agent port")[state], remedies[state]],
    forAnotherName: `Make it again with that address (drawbridge pki init --replace --dir DIR ${isIP(name ?? "") === 0 ? "--dns" : "--ip"} ${name}), or let agents dial one that it has (--proxy-server-host).`,
    makeAgain:
      "Make the certificates again and hand them to server and agents together: drawbridge pki renew --all --dir DIR.",
    sameIssue: "Give server and agents certificates of the same issue.",
  });
  if (found.length > 0) return found;
  const who = role === "agent" ? "agents here reach" : "this host reaches";
  const trust = isTrusted ? " and can trust it" : "; which authorities agents trust is not known here";
  const unnamed = name === undefined ? "; not compared with the address that agents dial, give --address" : "";
  return [ok(`${who} the server at ${where}${trust}${unnamed}`, evidence)];
}

export const frontend = defineCheck({
  ...{ id: "frontend", about: "The sidecar reaches a frontend of the server", needs: ["frontends"] },
  judge({ frontends }) {
    const found = frontends.map(judgeFrontend);
    const hasUsable = found.some(({ state }) => state === "ok");
    // The next frontend is tried when one is out of reach: a missing spare is not a failure yet.
    return found.map((each) => (hasUsable && each.state === "failed" ? { ...each, state: "warning" as const } : each));
  },
});

function judgeFrontend({ frontend: { mode }, failure, where }: Facts["frontends"][number]): Judgement {
  if (failure !== undefined) return failureOf(failure);
  return ok(`the sidecar reaches the ${mode} frontend ${where}, and each accepts the other`);
}

const RENEW = "drawbridge nodepool controller --issue-certificate keeps one for whatever address is published.";

export const ignitionCertificate = defineCheck({
  ...{ id: "ignition-certificate", about: "The Ignition server's certificate is for the address machines are given" },
  needs: ["ignitionPort", "ignitionNames", "now"],
  judge({ ignitionPort, ignitionNames, now }) {
    const names = typeof ignitionNames === "string" ? [] : ignitionNames;
    const { found, evidence } = judgePort({ ...ignitionPort, names }, now, {
      owner: "the Ignition server's",
      consequence: "so machines that are given that address retry for ever",
      unanswered: () => [
        `the Ignition server runs but does not serve machines on ${ignitionPort.where}`,
        "Read its log: it waits for its certificate (--cert-file, --cert-secret) before it opens the port.",
      ],
      forAnotherName: `Issue it again with that address, or correct ignitionEndpoint of the cluster. ${RENEW}`,
      makeAgain: RENEW,
      sameIssue: "",
    });
    if (typeof ignitionNames === "string" && ignitionPort.handshake.state === "connected")
      return [...found, skipped(ignitionNames, "Give the address that machines are given with --address.")];
    return found.length > 0
      ? found
      : [ok(`the certificate is for the addresses that machines are given: ${names.join(", ")}`, evidence)];
  },
});
