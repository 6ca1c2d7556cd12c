/** One dial through the real path, each step with its time: as the caller sees it, and as the server recorded it. */

import { causeFields, messageOf } from "../../base/errors/error.js";
import { describeFrontend } from "../../tunnel/client/frontend.js";
import { dialThrough, type Frontend } from "../../tunnel/client/index.js";
import { newDialId } from "../../tunnel/wire/dial-id.js";
import type { AgentPeer, ChoiceExplanation, ExplainedRefusal, TunnelRow } from "../observe/admin/contract.js";
import type { AdminPort } from "./admin-port.js";

export interface TraceStep {
  readonly name: string;
  readonly ms: number;
  readonly detail?: string | undefined;
}

export interface Trace {
  readonly target: string;
  /** The number that the dial carried: the server's row and upstream's log lines have it, too. */
  readonly dialId: string;
  readonly ok: boolean;
  readonly totalMs: number;
  readonly steps: readonly TraceStep[];
  /** Absent when the dial went well. */
  readonly error?: string | undefined;
  /** Of the catalogue of errors, with what to do, where the error has one. */
  readonly code?: string | undefined;
  readonly remedy?: string | undefined;
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
  const id = newDialId();
  const dialId = String(id);
  const began = performance.now();
  const elapsed = (): number => performance.now() - began;
  let reachedMs: number | undefined;
  let failure: unknown;
  const onFrontend = (): void => {
    reachedMs = elapsed();
  };
  const socket = await dialThrough(frontend, target, { timeoutMs, redialMs: 0, onFrontend, dialId: id }).catch(
    (reason: unknown) => {
      failure = reason;
      return undefined;
    },
  );
  const totalMs = elapsed();
  const ok = socket !== undefined;
  // Whoever was not reached has no record of it.
  const record: ServerRecord = reachedMs === undefined ? {} : await recordOf(admin, dialId, ok);
  socket?.destroy();
  const where = describeFrontend(frontend);
  const steps =
    reachedMs === undefined
      ? [{ name: "reach the frontend", ms: totalMs, detail: `${where}, failed` }]
      : [{ name: "reach the frontend", ms: reachedMs, detail: where }, ...stepsAfter(totalMs - reachedMs, record, ok)];
  const error = ok ? undefined : messageOf(failure);
  const { code, remedy } = causeFields(failure);
  const { explanation, blind } = record;
  return { target, dialId, ok, totalMs, steps, error, code, remedy, explanation, blind };
}

type ServerRecord = Pick<Trace, "explanation" | "blind"> & {
  readonly tunnel?: TunnelRow;
  /** Of the link to the agent, measured right after the dial. */
  readonly linkMs?: number | undefined;
};

async function recordOf(admin: AdminPort | undefined, dialId: string, ok: boolean): Promise<ServerRecord> {
  if (admin === undefined) return { blind: "no admin port was given, so only this side's times are known" };
  try {
    const query = `?dialId=${dialId}`;
    const lists = await Promise.all([admin.list<TunnelRow>(`tunnels${query}`), admin.list<TunnelRow>(`ended${query}`)]);
    // A server that does not know the question answers with everybody's.
    const tunnel = lists.flat().find((each) => each.dialId === dialId);
    if (tunnel === undefined) return { blind: unknownTo(admin, ok) };
    const { refusalId, agent } = tunnel;
    const refusal =
      refusalId === undefined
        ? undefined
        : await admin.find<ExplainedRefusal>(`refusals/${encodeURIComponent(refusalId)}`);
    return { tunnel, explanation: refusal?.explanation, linkMs: agent && (await roundTripOf(admin, agent.key)) };
  } catch (reason) {
    return { blind: messageOf(reason) };
  }
}

/** Whoever is refused as a caller has not dialled yet. */
function unknownTo({ address }: AdminPort, ok: boolean): string {
  const early = ok ? "" : "the caller was refused before a dial began, or ";
  const other = "another server has this frontend, or it is of a version without dial IDs";
  return `${address} has no record of this dial: ${early}${other}; only this side's times are known`;
}

/** Undefined when the agent is gone or silent, or the server cannot measure it. */
async function roundTripOf(admin: AdminPort, agentKey: number): Promise<number | undefined> {
  try {
    if ((await admin.post(`agents/${agentKey}/ping`)) === undefined) return undefined;
    return (await admin.find<AgentPeer>(`agents/${agentKey}`))?.roundTripMs;
  } catch {
    return undefined;
  }
}

/** After the frontend was reached. */
function stepsAfter(restMs: number, { tunnel, linkMs }: ServerRecord, ok: boolean): TraceStep[] {
  const { dialled, firstDialled = dialled, answered, ended } = tunnel?.marks ?? {};
  if (tunnel === undefined || (answered ?? ended ?? dialled) === undefined) {
    return [{ name: "ask, and wait for the answer", ms: restMs }];
  }
  const doneMs = answered ?? ended ?? restMs;
  // The rest is the round trip between this process and the server.
  const roundTrip = { name: "round trip to the server", ms: Math.max(0, restMs - doneMs) };
  if (dialled === undefined || firstDialled === undefined) {
    return [{ name: "choose an agent", ms: doneMs, detail: "failed" }, roundTrip];
  }
  const choice = { name: "choose an agent", ms: firstDialled, detail: tunnel.agent?.id };
  const before =
    firstDialled < dialled
      ? [{ name: "another agent failed first", ms: dialled - firstDialled, detail: "the dial was tried again" }]
      : [];
  return [choice, ...before, ...agentSteps(doneMs - dialled, linkMs, ok), roundTrip];
}

/** The server knows only when it asked the agent and when the answer came: the link's part is taken from a ping. */
function agentSteps(ms: number, linkMs: number | undefined, ok: boolean): TraceStep[] {
  const verb = ok ? "dials" : "tries";
  if (linkMs === undefined) {
    return [{ name: `agent ${verb} the target`, ms, detail: "the link's round trip, which is not known, included" }];
  }
  const onLink = Math.min(linkMs, ms);
  return [
    { name: "link to the agent and back", ms: onLink, detail: "measured by a ping after the dial" },
    { name: `agent ${verb} the target`, ms: ms - onLink },
  ];
}
