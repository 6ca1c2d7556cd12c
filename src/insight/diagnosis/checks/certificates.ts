/** Certificates: the files of this side, and what servers show in their handshakes, judged as their clients do. */
import type { X509Certificate } from "node:crypto";
import { remedies } from "../../../base/errors/catalogue.js";
import { type Cause, DrawbridgeError, reasonOf } from "../../../base/errors/error.js";
import { coded, failed, failureOf, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { DIAL_FAILURES } from "../../../tunnel/outgoing/explain.js";
import { type Life, lifeProblem } from "../../../tunnel/pki/manifest.js";
import { isFor } from "../../../tunnel/pki/pem.js";
import { SERVER_AUTH } from "../../../tunnel/pki/request.js";
import { isForUse, shownName } from "../../../tunnel/pki/shown.js";
import type { Overview } from "../../observe/admin/contract.js";
import { defineCheck } from "../check.js";
import type { Facts } from "../facts.js";
import type { AgentDial, SeenPort } from "../host/as-agent.js";

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

export const serverReachable = defineCheck({
  ...{ id: "server-reachable", about: "Agents reach the server, and each trusts the other" },
  ...{ needs: ["agentPorts", "role", "now"], uses: ["overview", "health"] },
  judge({ agentPorts, role, now, overview, health }) {
    const unconnected = role === "agent" ? whyUnconnected(overview, health) : undefined;
    const hasNoAgents = role !== "agent" && overview?.agents?.length === 0;
    return agentPorts.flatMap((port) => {
      const found = "serverCertificate" in port ? judgeSeen(port, now) : [judgeDial(port, unconnected)];
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

/** A server by its certificate alone, and a TCP connection. */
function judgeSeen({ failure, file, name, serverCertificate, where }: SeenPort, now: Date): Judgement[] {
  if (serverCertificate === undefined) return [failure === undefined ? unread(where, file) : failureOf(failure)];
  const its = `the server's certificate${file === undefined ? "" : ` (${file})`}`;
  const { subject, subjectAltName, validFrom, validTo } = serverCertificate;
  const evidence = `${shownName(subject)} for ${subjectAltName ?? "no address"}`;
  const found: Judgement[] = failure === undefined ? [] : [failureOf(failure)];
  if (name !== undefined && !isFor(serverCertificate, name))
    found.push(coded("DB_TLS_SERVER_NAME", `${its} is not for ${name}, so agents refuse it`, evidence));
  if (!isForUse(serverCertificate, SERVER_AUTH))
    found.push(coded("DB_TLS_SERVER_USE", `${its} is not for TLS servers (serverAuth), so agents refuse it`, evidence));
  const life = { notBefore: validFrom, notAfter: validTo };
  const remedy = remedies.DB_TLS_SERVER_EXPIRED;
  found.push(...judgeLife(its, life, now, remedy, evidence).filter(({ state }) => state === "failed"));
  if (found.length > 0) return found;
  const untold = [
    ...(name === undefined ? ["not compared with the address that agents dial, give --address"] : []),
    ...(file === undefined ? ["which authorities agents trust is not known here"] : []),
  ].map((each) => `; ${each}`);
  const message = `the server takes connections at ${where}, and its certificate is valid for a server${untold.join("")}`;
  return [ok(message, evidence)];
}

function unread(where: string, file = ""): Judgement {
  const why = file === "" ? "is not known here" : `(${file}) cannot be read here`;
  const message = `the server takes connections at ${where}; its certificate ${why}, and it is not dialled without an agent's own`;
  return skipped(
    message,
    "Give the address that agents dial with --address and the certificates with --pki, or run this as root beside the server.",
  );
}

/** The server was dialled with an agent's own authorities, and its certificate where that is at hand. */
function judgeDial({ certificate, failure, isAnonymous, where }: AgentDial, unconnected: Cause | undefined): Judgement {
  const evidence = certificate === undefined ? [] : [shownBy(where, certificate)];
  if (failure instanceof DrawbridgeError) return { ...failureOf(failure), evidence };
  if (failure !== undefined) return failed(reasonOf(failure), CHECK_WAY, ...evidence);
  if (unconnected !== undefined) {
    const { code, remedy = unconnectedRemedy(unconnected.sentence), sentence } = unconnected;
    const message = `TLS with the server at ${where} works, but the agent is not connected: ${sentence.replace(/\.$/, "")}`;
    return { ...failed(message, remedy, ...evidence), code };
  }
  if (isAnonymous) return ok(`agents here reach the server at ${where} and can trust it`, ...evidence);
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

export const frontend = defineCheck({
  ...{ id: "frontend", about: "The sidecar reaches a frontend of the server" },
  ...{ needs: ["frontends"], uses: ["overview"] },
  judge({ frontends, overview }) {
    const found = frontends.map((each) => judgeFrontend(each, overview?.process));
    const hasUsable = found.some(({ state }) => state === "ok");
    // The next frontend is tried when one is out of reach: a missing spare is not a failure yet.
    return found.map((each) => (hasUsable && each.state === "failed" ? { ...each, state: "warning" as const } : each));
  },
});

/** Causes that lie between a sidecar and its frontend; others lie behind it. */
const ABOUT_FRONTENDS: ReadonlySet<string> = new Set(["DB_FRONTEND", "DB_PEER_PROTOCOL", ...DIAL_FAILURES]);

function judgeFrontend(
  { frontend: { mode }, failure, forbidden, where }: Facts["frontends"][number],
  sidecar: Overview["process"] | undefined,
): Judgement {
  if (failure !== undefined) return failureOf(failure);
  // It may be another user than doctor's, and have read its files before they were replaced.
  const own = sidecar?.unreadyCauses?.find(({ code = "" }) => ABOUT_FRONTENDS.has(code));
  if (own !== undefined) {
    const message = `doctor's own dial through ${where} is answered, but the sidecar's fails: ${own.sentence}`;
    return {
      ...failed(message, own.remedy ?? remedies[own.code!], ...(forbidden === undefined ? [] : [forbidden])),
      code: own.code,
    };
  }
  // What it says counts for more than modes, which do not tell everything.
  if (forbidden !== undefined && sidecar?.ready !== true)
    return coded("DB_FRONTEND", `the sidecar may not open the socket ${where}: ${forbidden}`);
  return ok(`the sidecar reaches the ${mode} frontend ${where}, and each accepts the other`);
}

const RENEW = "drawbridge nodepool controller --issue-certificate keeps one for whatever address is published.";

export const ignitionCertificate = defineCheck({
  ...{ id: "ignition-certificate", about: "The Ignition server's certificate is for the address machines are given" },
  needs: ["ignitionPort", "ignitionNames", "now"],
  judge({ ignitionPort: { certificate, failure, where }, ignitionNames, now }) {
    if (certificate === undefined) {
      const remedy =
        "Read its log: it waits for its certificate (--cert-file, --cert-secret) before it opens the port.";
      return failed(`the Ignition server runs but does not serve machines on ${where}`, remedy, reasonOf(failure));
    }
    const its = "the Ignition server's certificate";
    const evidence = shownBy(where, certificate);
    const names = typeof ignitionNames === "string" ? [] : ignitionNames;
    const again = `Issue it again with that address, or correct ignitionEndpoint of the cluster. ${RENEW}`;
    const retrying = "so machines that are given that address retry for ever";
    // That it ends soon is said of the files.
    const life = { notBefore: certificate.validFrom, notAfter: certificate.validTo };
    const found = [
      ...names
        .filter((name) => !isFor(certificate, name))
        .map((name) => failed(`${its} is not for ${name}, ${retrying}`, again, evidence)),
      ...judgeLife(its, life, now, RENEW, evidence).filter(({ state }) => state === "failed"),
    ];
    if (typeof ignitionNames === "string")
      return [...found, skipped(ignitionNames, "Give the address that machines are given with --address.")];
    if (found.length > 0) return found;
    return ok(`the certificate is for the addresses that machines are given: ${names.join(", ")}`, evidence);
  },
});
