/** A tunnel's life as bars on a time line: what was waited for, and for how long. */
import type { TunnelRow } from "../../observe/admin/contract.js";

export interface Bar {
  readonly label: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly kind: "wait" | "dial" | "open" | "half" | "failed";
}

export interface Waterfall {
  readonly lengthMs: number;
  readonly bars: readonly Bar[];
  readonly events: readonly { readonly label: string; readonly atMs: number }[];
}

export function waterfall(tunnel: TunnelRow, now: number): Waterfall {
  const { marks } = tunnel;
  const endMs = marks.ended ?? Math.max(0, now - tunnel.askedAt);
  const dialled = marks.dialled ?? endMs;
  const { firstDialled = dialled } = marks;
  const bars: Bar[] = [{ label: "waiting for an agent", fromMs: 0, toMs: firstDialled, kind: "wait" }];
  if (firstDialled < dialled) {
    bars.push({ label: "dial failed at another agent", fromMs: firstDialled, toMs: dialled, kind: "failed" });
  }
  if (marks.dialled !== undefined) {
    const failed = marks.answered === undefined && marks.ended !== undefined;
    const kind = failed ? "failed" : "dial";
    bars.push({ label: failed ? "dial failed" : "dialled", fromMs: dialled, toMs: marks.answered ?? endMs, kind });
  }
  if (marks.answered !== undefined) {
    const half = firstOf(marks.callerEnded, marks.targetEnded) ?? endMs;
    bars.push({ label: "open both ways", fromMs: marks.answered, toMs: Math.min(half, endMs), kind: "open" });
    if (half < endMs) {
      const who = half === marks.callerEnded ? "only the target sends" : "only the caller sends";
      bars.push({ label: who, fromMs: half, toMs: endMs, kind: "half" });
    }
  }
  return { lengthMs: Math.max(endMs, 0.001), bars, events: events(tunnel) };
}

function events({ marks, endReason, lastError }: TunnelRow): Waterfall["events"] {
  const all: [string, number | undefined][] = [
    ["first byte to the target", marks.firstByteToTarget],
    ["first byte from the target", marks.firstByteFromTarget],
    ["the caller has no more to send", marks.callerEnded],
    ["the target has no more to send", marks.targetEnded],
    [`ended: ${endReason ?? lastError ?? "no reason was given"}`, marks.ended],
  ];
  return all
    .filter((event): event is [string, number] => event[1] !== undefined)
    .sort(([, a], [, b]) => a - b)
    .map(([label, atMs]) => ({ label, atMs }));
}

function firstOf(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
