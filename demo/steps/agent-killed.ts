import type { IncomingMessage } from "node:http";
import { waitUntil, within } from "../../test/support/processes/deadline.js";
import type { WebhookRoute } from "../callers/webhook-client.js";
import { AGENTS, type AgentName } from "../pki.js";
import type { Show } from "../report/show.js";
import { MIB } from "../webhook/content.js";
import type { Tunnel } from "./tunnel.js";

const LARGE = 4096 * MIB;
const ENOUGH = 8 * MIB;

/** What its tunnels carried ends at once instead of hanging, and the next request takes the other agent. */
export async function killAgent({ server, agents }: Tunnel, route: WebhookRoute, show: Show): Promise<AgentName> {
  const frontend = server.frontends.connectUds;
  const { opened: client, agentId } = await server.admin.carrierOf(() => route.open(frontend));
  const download = await client.ask("GET", `/bytes?count=${LARGE}`);
  const ended = endOf(download);
  let received = 0;
  download.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  await waitUntil("the download to be well under way", () => received > ENOUGH);

  const name = AGENTS.find((agent) => agent === agentId)!;
  const victim = agents.get(name)!;
  victim.kill("SIGKILL");
  const killedAt = performance.now();
  await within(5_000, "the download through the killed agent to end", ended);
  const endMs = performance.now() - killedAt;
  client.close();
  show.note(`killed ${name} (pid ${victim.pid}) after ${Math.round(received / MIB)} MiB of a download through it`);

  const askedAt = performance.now();
  const { opened: text, agentId: carrier } = await carriedText(server, route);
  const answerMs = performance.now() - askedAt;
  if (text !== "pong" || carrier === name) throw new Error(`the next request got "${text}" through ${carrier}`);
  show.figures({ downloadEndedMs: Math.round(endMs), nextAnswerMs: Math.round(answerMs) });
  show.result(
    `the download ended ${ms(endMs)} later; the next request was answered through ${carrier} in ${ms(answerMs)}`,
  );
  return name;
}

async function carriedText(
  server: Tunnel["server"],
  route: WebhookRoute,
): Promise<{ opened: string; agentId: string }> {
  const { opened: client, agentId } = await server.admin.carrierOf(() => route.open(server.frontends.connectUds));
  try {
    return { opened: await client.text("GET", "/ping"), agentId };
  } finally {
    client.close();
  }
}

/** Any kind of end: cut off in the middle it is an error or an early close. */
function endOf(download: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    download.once("error", () => resolve());
    download.once("close", () => resolve());
  });
}

const ms = (value: number): string => `${Math.round(value)} ms`;
