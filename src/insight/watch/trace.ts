/** One dial through the real path, each step with its time: as the caller sees it, and as the server recorded it. */

import { messageOf } from "../../base/errors/error.js";
import { describeFrontend } from "../../tunnel/client/frontend.js";
import { dialThrough, type Frontend } from "../../tunnel/client/index.js";
import type { ChoiceExplanation, ExplainedRefusal, Page, ProcessInfo, TunnelRow } from "../observe/admin/contract.js";
import type { AdminPort } from "./admin-port.js";

export interface TraceStep {
  readonly name: string;
  readonly ms: number;
  readonly detail?: string | undefined;
}

export interface Trace {
  readonly target: string;
  readonly ok: boolean;
  readonly totalMs: number;
  readonly steps: readonly TraceStep[];
  /** Absent when the dial went well. */
  readonly error?: string | undefined;
  /** Why no agent was chosen, where that was it. */
  readonly explanation?: ChoiceExplanation | undefined;
  /** The server's own record of it was not found; the message says why. */
  readonly blind?: string | undefined;
}

/** Without an admin port only the caller's side is known. */
export async function trace(
  frontend: Frontend,
  target: string,
  admin: AdminPort | undefined,
  timeoutMs: number,
): Promise<Trace> {
  const began = performance.now();
  const wallBegan = Date.now();
  const elapsed = (): number => performance.now() - began;
  let reachedMs: number | undefined;
  let error: string | undefined;
  const onFrontend = (): void => {
    reachedMs = elapsed();
  };
  const socket = await dialThrough(frontend, target, { timeoutMs, onFrontend }).catch((reason: unknown) => {
    error = messageOf(reason);
    return undefined;
  });
  const totalMs = elapsed();
  const record = await recordOf(admin, target, wallBegan);
  socket?.destroy();
  return {
    target,
    ok: socket !== undefined,
    totalMs,
    steps: stepsOf(describeFrontend(frontend), reachedMs, record.tunnel, totalMs, socket !== undefined),
    error,
    explanation: record.explanation,
    blind: record.blind,
  };
}

type ServerRecord = Pick<Trace, "explanation" | "blind"> & { readonly tunnel?: TunnelRow };

/** How far the round trip may blur the difference between the two clocks. */
const SLACK_MS = 5000;
/** Of a thousand tunnels each; there are never more to one target. */
const MOST_PAGES = 20;

async function recordOf(admin: AdminPort | undefined, target: string, since: number): Promise<ServerRecord> {
  if (admin === undefined) return { blind: "no admin port was given, so only this side's times are known" };
  try {
    const query = `?target=${encodeURIComponent(target)}&limit=1000`;
    const [{ now }, open, ended] = await Promise.all([
      admin.get<ProcessInfo>("process"),
      allTunnels(admin, query),
      admin.get<Page<TunnelRow>>(`ended${query}`),
    ]);
    const sinceByItsClock = since + (now - Date.now()) - SLACK_MS;
    // Nobody else dials this target just then, as a rule; if somebody does, the last one is ours.
    const ours = [...open, ...ended.items]
      .filter((tunnel) => tunnel.target === target && tunnel.askedAt >= sinceByItsClock)
      .sort((a, b) => b.id - a.id)[0];
    if (ours === undefined) return { blind: `${admin.address} knows of no such dial: does it serve this frontend?` };
    const { refusalId } = ours;
    if (refusalId === undefined) return { tunnel: ours };
    const refusal = await admin.find<ExplainedRefusal>(`refusals/${encodeURIComponent(refusalId)}`);
    return { tunnel: ours, explanation: refusal?.explanation };
  } catch (reason) {
    return { blind: messageOf(reason) };
  }
}

/** All pages, since the newest tunnels are on the last one. */
async function allTunnels(admin: AdminPort, query: string): Promise<TunnelRow[]> {
  const found: TunnelRow[] = [];
  let after = "";
  for (let page = 0; page < MOST_PAGES; page++) {
    const { items, next } = await admin.get<Page<TunnelRow>>(`tunnels${query}${after}`);
    found.push(...items);
    if (next === undefined) break;
    after = `&after=${next}`;
  }
  return found;
}

function stepsOf(
  where: string,
  reachedMs: number | undefined,
  tunnel: TunnelRow | undefined,
  totalMs: number,
  ok: boolean,
): TraceStep[] {
  if (reachedMs === undefined) return [{ name: "reach the frontend", ms: totalMs, detail: `${where}, failed` }];
  const steps: TraceStep[] = [{ name: "reach the frontend", ms: reachedMs, detail: where }];
  const { dialled, answered, ended } = tunnel?.marks ?? {};
  const inServer = answered ?? ended;
  if (tunnel === undefined || inServer === undefined) {
    return [...steps, { name: "ask, and wait for the answer", ms: totalMs - reachedMs }];
  }
  if (dialled !== undefined) {
    steps.push({ name: "choose an agent", ms: dialled, detail: tunnel.agent?.id });
    steps.push({ name: ok ? "agent dials the target" : "agent tries the target", ms: inServer - dialled });
  } else {
    steps.push({ name: "choose an agent", ms: inServer, detail: "failed" });
  }
  // The rest is the round trip between this process and the server.
  steps.push({ name: "round trip to the server", ms: Math.max(0, totalMs - reachedMs - inServer) });
  return steps;
}
