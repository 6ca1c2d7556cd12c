/** Would an agent that starts here get through to its server, and believe it? */
import { isIP } from "node:net";
import { join } from "node:path";
import { joinHostPort } from "../../../base/address.js";
import type { DoctorContext } from "../context.js";
import { type Check, type Outcome, ok, skipped, wrong } from "../diagnosis.js";
import { type Peeked, peek } from "../host/peek.js";
import { judgeShown } from "../shown-certificate.js";

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
  const file = join(pki, "ca.crt");
  const shown = { where, raw, name: address, ca: { file, text: await host.readText(file) }, now: now() };
  const { found, evidence, isTrusted } = judgeShown(shown, {
    certificate: "the server's certificate",
    consequence: "so agents refuse it",
    forAnotherName: `Make it anew with that address (drawbridge pki init --replace --dir DIR ${isIP(address) === 0 ? "--dns" : "--ip"} ${address}), or let agents dial one that it has (--proxy-server-host).`,
    makeAnew:
      "Make the certificates anew and hand them to server and agents together: drawbridge pki renew --all --dir DIR.",
    sameIssue: "Give server and agents certificates of the same issue.",
  });
  const who = role === "agent" ? "agents here reach" : "this host reaches";
  return found.length > 0
    ? [...found]
    : [ok(`${who} the server at ${where}${isTrusted ? " and can trust it" : ""}`, evidence)];
}
