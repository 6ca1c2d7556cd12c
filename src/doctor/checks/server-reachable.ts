/** Would an agent that starts here get through to its server, and believe it? */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import { chainOf } from "../../pki/inspect/chain.js";
import { certificatesIn } from "../../pki/pem.js";
import { joinHostPort } from "../../wire/address.js";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, skipped, wrong } from "../diagnosis.js";
import { type Peeked, peek } from "../host/peek.js";

export const serverReachable: Check<DoctorContext> = {
  id: "server-reachable",
  roles: ["server", "agent", "bootstrap"],
  async run(context) {
    const { address, agentPort, role, host } = context;
    if (address === undefined) return [skipped("where agents dial the server is not known", "Give it with --address.")];
    // Without a server there is nothing to reach, and another check says so.
    if (role !== "agent" && (await host.running("server")) === undefined) return [skipped("no proxy-server runs here")];
    const where = joinHostPort(address, agentPort);
    const peeked = await peek(address, agentPort, 6_000);
    return peeked.state === "connected"
      ? judge(context, where, peeked.certificate)
      : [unreachable(where, agentPort, peeked)];
  },
};

function unreachable(where: string, port: number, { state, detail }: Exclude<Peeked, { state: "connected" }>): Outcome {
  switch (state) {
    case "timeout":
      return wrong(
        `${where} does not answer: something on the way drops TCP ${port}`,
        `Let TCP ${port} through from nodes to the server's host: drawbridge firewall plan --platform PLATFORM says how.`,
        detail,
      );
    case "refused":
      return wrong(
        `nothing takes connections on ${where}`,
        `Start the server with --agent-port=${port}, or correct --proxy-server-host of the agents; a firewall that rejects looks the same.`,
        detail,
      );
    case "no-tls":
      return wrong(
        `${where} speaks no TLS as a proxy-server's agent port does`,
        "Check --proxy-server-port; is another program or a proxy there?",
        detail,
      );
    default:
      return wrong(
        `${where} cannot be reached`,
        `Check the route: ip route get ${where.replace(/:\d+$/, "")}.`,
        detail,
      );
  }
}

async function judge(
  { address = "", pki, role, host, now }: DoctorContext,
  where: string,
  raw: Buffer,
): Promise<Outcome[]> {
  const certificate = new X509Certificate(raw);
  const shown = `${where} shows ${certificate.subject.replaceAll("\n", ", ")} for ${certificate.subjectAltName ?? "no address"}`;
  const listed =
    isIP(address) === 0 ? certificate.checkHost(address, { subject: "never" }) : certificate.checkIP(address);
  const [start, end, at] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo), now().getTime()];
  const caFile = join(pki, "ca.crt");
  const ca = await host.readText(caFile);
  const authorities = ca === undefined ? [] : certificatesIn(ca).map((found) => found.certificate);
  const found: Outcome[] = [];
  if (listed === undefined) {
    found.push(
      wrong(
        `the server's certificate is not for ${address}, so agents refuse it`,
        `Make it anew with that address (drawbridge pki init --replace --dir DIR --ip ${address}), or let agents dial one that it has (--proxy-server-host).`,
        shown,
      ),
    );
  }
  if (at > end)
    found.push(
      wrong(
        `the server's certificate ended ${certificate.validTo}`,
        "Make the certificates anew and hand them to server and agents together: drawbridge pki renew --all --dir DIR.",
        shown,
      ),
    );
  if (at < start) {
    found.push(
      wrong(
        `the server's certificate starts only ${certificate.validFrom}, and it is ${now().toISOString()} here`,
        "Set the clocks of both hosts (chronyc makestep).",
        shown,
      ),
    );
  }
  if (authorities.length > 0 && chainOf(certificate, authorities).state !== "verified") {
    found.push(
      wrong(
        `the authority in ${caFile} did not sign the server's certificate`,
        "Give server and agents certificates of the same issue.",
        shown,
      ),
    );
  }
  const who = role === "agent" ? "agents here reach" : "this host reaches";
  return found.length > 0
    ? found
    : [ok(`${who} the server at ${where}${authorities.length > 0 ? " and can trust it" : ""}`, shown)];
}
