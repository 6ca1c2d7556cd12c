import type { Place } from "../isolation/place.js";
import { type Pki, WEBHOOK_NAME } from "../pki.js";
import type { Processes } from "../processes/processes.js";
import { ready } from "../processes/ready.js";
import { typescript } from "../processes/typescript.js";
import type { Show } from "../report/show.js";

export async function startWebhook(processes: Processes, place: Place, pki: Pki, show: Show): Promise<void> {
  const { host, port } = place.webhook;
  const { cert, key } = pki.webhook();
  const program = typescript(new URL("../webhook/main.ts", import.meta.url));
  const refused = place.refusedSourcePort === undefined ? [] : [String(place.refusedSourcePort)];
  const argv = [...program, host, String(port), cert, key, ...refused];
  const webhook = processes.start("webhook", argv, place);
  await ready(webhook, "to listen", 15_000, () => webhook.tail(1) === "listening");
  show.result(`${WEBHOOK_NAME} listens on ${host}:${port}, pid ${webhook.pid}`);
}
