import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Frontend } from "../callers/frontends.js";
import type { WebhookClient, WebhookRoute } from "../callers/webhook-client.js";
import type { Show } from "../report/show.js";
import type { Admin } from "../tunnel/admin.js";
import { contentDigest, MIB } from "../webhook/content.js";
import { describeLatency, type Latency, measure } from "./latency.js";
import type { Tunnel } from "./tunnel.js";

const SIZE = 64 * MIB;
const PINGS = 300;
/** A download that has not moved for this long has filled every window and queue on its way. */
const STALLED_MS = 300;

/** One caller stops reading its download; pings on another tunnel of the same agent must not notice. */
export async function stallReader({ server }: Tunnel, route: WebhookRoute, show: Show): Promise<void> {
  const frontend = server.frontends.connectUds;
  const { opened: slow, ...tunnel } = await server.admin.carrierOf(() => route.open(frontend));
  const pinger = await openBeside(tunnel.agentId, server.admin, frontend, route);
  const ping = () => pinger.text("GET", "/ping");
  await measure(ping, PINGS);
  const quiet = await measure(ping, PINGS);
  show.note(`pings, nothing else going on:     ${describeLatency(quiet)}`);

  const download = await slow.ask("GET", `/bytes?count=${SIZE}`);
  const standsAt = await untilStalled(() => server.admin.bytesToClient(tunnel));
  if (standsAt >= SIZE) throw new Error("the download went through although nobody read it");
  show.note(`a download through ${tunnel.agentId} that nobody reads stands at ${mib(standsAt)} of ${mib(SIZE)}`);
  const beside = await measure(ping, PINGS);
  show.note(`pings beside the stalled reader:  ${describeLatency(beside)}`);
  const digest = await digestOf(download);
  slow.close();
  pinger.close();
  if (digest !== contentDigest(SIZE)) throw new Error("the stalled download did not arrive whole after it went on");
  show.note(`the reader went on: all ${mib(SIZE)} arrived, checksum right`);
  refuseDisturbance(quiet, beside);
  show.figures({ quietP50Ms: quiet.p50, quietP99Ms: quiet.p99, besideP50Ms: beside.p50, besideP99Ms: beside.p99 });
  show.result(
    `pings through the same agent: median ${quiet.p50} ms alone, ${beside.p50} ms beside it; p99 ${quiet.p99} and ${beside.p99} ms`,
  );
}

async function untilStalled(position: () => Promise<number>): Promise<number> {
  for (let last = 0; ; ) {
    const now = await position();
    if (now > 0 && now === last) return now;
    last = now;
    await sleep(STALLED_MS);
  }
}

/** A tunnel that the same agent carries; the server chooses, so several attempts may be needed. */
async function openBeside(
  agentId: string,
  admin: Admin,
  frontend: Frontend,
  route: WebhookRoute,
): Promise<WebhookClient> {
  for (let attempt = 0; attempt < 30; attempt++) {
    const { opened, agentId: carrier } = await admin.carrierOf(() => route.open(frontend));
    if (carrier === agentId) return opened;
    opened.close();
  }
  throw new Error(`none of 30 tunnels was given to ${agentId}`);
}

/** Medians, because one hiccup of a busy machine is no disturbance; a tunnel that hangs with the stalled one is. */
function refuseDisturbance(quiet: Latency, beside: Latency): void {
  if (beside.p50 > 2 * quiet.p50 + 5 || beside.max > 1_000) {
    throw new Error(`the slow reader disturbed others: ${describeLatency(quiet)} became ${describeLatency(beside)}`);
  }
}

async function digestOf(download: IncomingMessage): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of download) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;
