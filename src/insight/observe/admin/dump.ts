/** All there is, as one download, made and sent in portions: tunnels get their turn in between. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { safeJson } from "../../../base/text.js";
import type { Dump } from "./contract.js";
import type { AdminModel } from "./model.js";

/** Sent in one turn: some hundred tunnels. */
const PORTION_CHARS = 48 * 1024;
/** For a reader that stops in the middle. */
const PATIENCE_MS = 30_000;

const HEADERS = {
  "Content-Type": "application/json",
  "Content-Disposition": 'attachment; filename="drawbridge-state.json"',
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

export async function sendDump(model: AdminModel, response: ServerResponse): Promise<void> {
  response.writeHead(200, HEADERS);
  let portion = "";
  for (const piece of pieces(model)) {
    portion += piece;
    if (portion.length < PORTION_CHARS) continue;
    if (response.destroyed) return;
    if (!response.write(portion)) await once(response, "drain", { signal: AbortSignal.timeout(PATIENCE_MS) });
    portion = "";
    await turn();
  }
  response.end(portion);
}

function* pieces(model: AdminModel): Generator<string> {
  const head: Omit<Dump, "tunnels" | "ended"> = { ...model.overview(), refusals: model.refusals.explained() };
  yield `${safeJson(head).slice(0, -1)},"tunnels":[`;
  let separator = "";
  for (const tunnel of model.subject.tunnels?.() ?? []) {
    yield separator + safeJson(tunnel.describe());
    separator = ",";
  }
  yield `],"ended":${safeJson(model.ended.since(0))}}\n`;
}
