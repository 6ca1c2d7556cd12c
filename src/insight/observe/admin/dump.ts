/** All there is, as one download, made and sent in portions: tunnels get their turn in between. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { safeJson } from "../../../base/text.js";
import type { Dump } from "./contract.js";
import type { AdminModel } from "./model.js";

const PORTION = 200;
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
  for (const piece of pieces(model)) {
    if (response.destroyed) return;
    if (!response.write(piece)) await once(response, "drain", { signal: AbortSignal.timeout(PATIENCE_MS) });
    await turn();
  }
  response.end();
}

function* pieces(model: AdminModel): Generator<string> {
  const head: Omit<Dump, "tunnels" | "ended"> = { ...model.overview(), refusals: model.refusals.explained() };
  yield safeJson(head).slice(0, -1);
  yield* list("tunnels", model.subject.tunnels?.() ?? [], (tunnel) => tunnel.describe());
  yield* list("ended", model.ended.since(0), (tunnel) => tunnel);
  yield "}\n";
}

function* list<Item>(name: string, items: Iterable<Item>, describe: (item: Item) => object): Generator<string> {
  let separator = `,"${name}":[`;
  let portion: object[] = [];
  const flush = (): string => {
    const text = separator + safeJson(portion).slice(1, -1);
    separator = ",";
    portion = [];
    return text;
  };
  for (const item of items) {
    portion.push(describe(item));
    if (portion.length === PORTION) yield flush();
  }
  if (portion.length > 0) yield flush();
  yield separator === "," ? "]" : `${separator}]`;
}
