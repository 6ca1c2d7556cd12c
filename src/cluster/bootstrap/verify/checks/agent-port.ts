/** Can agents connect, and will they believe the certificate they are shown? */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { joinHostPort } from "../../../../base/address.js";
import { type Check, fail, type Outcome, pass } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import { pkiFile } from "../../model/names.js";
import { textAt } from "../../settings/command-line.js";
import type { Bridge } from "../bridge.js";
import { seconds } from "../plain-text.js";

export function agentPortCheck(bridge: Bridge): Check {
  return {
    id: "agent-port",
    title: "The server listens for agents, who can trust it",
    run: (signal) => agentPort(bridge, signal),
  };
}

const WAIT_MS = 5_000;

async function agentPort(bridge: Bridge, signal: AbortSignal): Promise<Outcome> {
  const { address = "127.0.0.1", agentPort: port } = bridge;
  const where = joinHostPort(address, port);
  const caFile = pkiFile(bridge.pki.directory, "ca");
  const ca = await textAt(caFile);
  let shown: Presented;
  try {
    shown = await presented({ host: address, port, ca }, AbortSignal.any([signal, AbortSignal.timeout(WAIT_MS)]));
  } catch (reason) {
    const remedy =
      `Start the server with --agent-port=${port}, check that ${address} is an address of this host, and let ` +
      `nothing on it block TCP ${port}; give another address with --address.`;
    return fail(`${where} takes no agents: ${messageOf(reason)}`, remedy);
  }
  return judge(bridge, where, ca === undefined ? undefined : caFile, shown);
}

interface Presented {
  readonly certificate: X509Certificate;
  /** Why the authority's file does not vouch for it; empty when it does. */
  readonly distrust: string;
}

/** A handshake as an agent begins it. It has no certificate of its own, so the server hangs up afterwards. */
function presented(
  { host, port, ca }: { host: string; port: number; ca: string | undefined },
  signal: AbortSignal,
): Promise<Presented> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({
      ...{ host, port, ca, minVersion: "TLSv1.2" },
      ...(isIP(host) === 0 ? { servername: host } : {}),
      // Whatever it shows is what the check is about.
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    const stop = (): void => void socket.destroy(new Error("nothing came within 5 s"));
    signal.addEventListener("abort", stop);
    socket.once("close", () => signal.removeEventListener("abort", stop));
    socket.on("error", reject);
    socket.once("secureConnect", () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw);
      const reason = socket.authorizationError as unknown as Error | string | null;
      resolve({ certificate, distrust: reason === null ? "" : messageOf(reason) });
      socket.destroy();
    });
  });
}

function judge(
  bridge: Bridge,
  where: string,
  caFile: string | undefined,
  { certificate, distrust }: Presented,
): Outcome {
  const names = certificate.subjectAltName ?? "no address at all";
  const [from, until] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const now = Date.now();
  const anew = `Make the certificates anew (drawbridge pki init --replace --dir ${bridge.pki.directory}) and restart the server.`;
  if (until <= now) return fail(`the certificate at ${where} ended ${certificate.validTo}`, anew);
  if (from > now) {
    return fail(`the certificate at ${where} is valid from ${certificate.validFrom}`, `Set this host's clock. ${anew}`);
  }
  if (caFile !== undefined && distrust !== "") {
    const remedy = `Install server.crt and ca.crt of one issue in ${bridge.pki.directory} and restart the server; agents need the same ca.crt.`;
    return fail(`${caFile} does not vouch for the certificate at ${where}: ${distrust}`, remedy);
  }
  const { address } = bridge;
  if (address !== undefined && !isFor(certificate, address)) {
    const flag = isIP(address) === 0 ? "--dns" : "--ip";
    const remedy = `${anew.replace(") and", ` ${flag} ${address}) and`)} Or let agents dial an address it has (their --proxy-server-host).`;
    return fail(`the certificate at ${where} is for ${names}, so agents that dial ${address} refuse it`, remedy);
  }
  const gaps = [
    caFile === undefined ? `not checked against an authority: ${bridge.pki.directory} has no ca.crt, see --pki` : "",
    address === undefined ? "not checked for an address: give the agents' with --address" : "",
  ].filter((gap) => gap !== "");
  const rest = gaps.length === 0 ? "" : ` (${gaps.join("; ")})`;
  return pass(`${where} shows a certificate for ${names}, ends in ${lasting(until - now)}${rest}`);
}

function isFor(certificate: X509Certificate, address: string): boolean {
  const found =
    isIP(address) === 0 ? certificate.checkHost(address, { subject: "never" }) : certificate.checkIP(address);
  return found !== undefined;
}

function lasting(ms: number): string {
  return ms < 60_000
    ? seconds(ms)
    : ms < 48 * 3_600_000
      ? `${(ms / 3_600_000).toFixed(1)} h`
      : `${Math.floor(ms / 86_400_000)} days`;
}
