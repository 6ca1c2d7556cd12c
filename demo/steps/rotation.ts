import { readFileSync } from "node:fs";
import { connect } from "node:tls";
import type { CertFiles } from "../../test/support/processes/certs.js";
import { waitUntil, within } from "../../test/support/processes/deadline.js";
import type { WebhookRoute } from "../callers/webhook-client.js";
import type { Place } from "../isolation/place.js";
import { type AgentName, type Pki, serialOf } from "../pki.js";
import type { Show } from "../report/show.js";
import { Ticks } from "./ticks.js";
import type { Tunnel } from "./tunnel.js";

/** New certificates on disk come into force without a restart, and a stream that runs meanwhile does not notice. */
export async function rotateCertificates(
  tunnel: Tunnel,
  place: Place,
  pki: Pki,
  route: WebhookRoute,
  absent: AgentName,
  show: Show,
): Promise<void> {
  const { server } = tunnel;
  const client = await route.open(server.frontends.connectTcp);
  const ticks = new Ticks(await client.ask("GET", `/ticks?ms=${Ticks.EVERY_MS}`));
  await waitUntil("the stream to run", () => ticks.count > 2);
  const shownByFrontend = () => serialShown("127.0.0.1", server.frontendPort, pki.caller());
  const shownToAgents = () => serialShown(place.serverHost, server.agentPort, pki.agent(absent));
  const before = await Promise.all([shownByFrontend(), shownToAgents()]);

  await pki.rotate();
  const begin = performance.now();
  show.note("a stream runs; certificates and keys of caller, server and agents replaced on disk");
  const wanted = [serialOf(pki.frontend()), serialOf(pki.agentListener())];
  await waitUntil("the proxy-server to show its new certificates", async () => {
    const now = await Promise.all([shownByFrontend(), shownToAgents()]);
    return now.every((serial, at) => serial === wanted[at] && serial !== before[at]);
  });
  const reloadSeconds = (performance.now() - begin) / 1000;
  show.note(`serial of the TCP frontend: ${short(before[0])} before, ${short(wanted[0])} now, without a restart`);

  await tunnel.join(absent);
  show.note(`${absent} is back and was accepted with its new certificate`);
  const count = ticks.count;
  await waitUntil("the stream to go on", () => ticks.count > count + 2);
  ticks.check();
  client.close();
  const longestPauseMs = Math.round(ticks.longestPauseMs);
  show.figures({ reloadSeconds: Math.round(reloadSeconds * 10) / 10, ticks: ticks.count, longestPauseMs });
  show.result(
    `in force after ${reloadSeconds.toFixed(1)} s; the stream went on (${ticks.count} ticks, none lost, longest pause ${longestPauseMs} ms)`,
  );
}

/** The serial number of the certificate that a new connection is shown. */
function serialShown(host: string, port: number, files: CertFiles): Promise<string> {
  const read = (file: string) => readFileSync(file);
  const socket = connect({
    host,
    port,
    ca: read(files.ca),
    cert: read(files.cert),
    key: read(files.key),
    ALPNProtocols: ["h2", "http/1.1"],
  });
  const shown = new Promise<string>((resolve, reject) => {
    socket.once("secureConnect", () => resolve(socket.getPeerCertificate().serialNumber));
    socket.once("error", reject);
  });
  return within(5_000, "a TLS handshake", shown).finally(() => {
    socket.on("error", () => {});
    socket.destroy();
  });
}

const short = (serial: string | undefined): string => `${serial?.slice(0, 8)}...`;
