/** What apply, diff and delete did or would do, for people. */
import { type Change, isChange, type Outcome, type Report } from "../../cluster/hosted/apply/outcome.js";

const places = { "control-plane": "management", hosted: "hosted" } as const;
const LONGEST_VALUE = 120;

export function reportText(command: "apply" | "diff" | "delete", { outcomes, issued }: Report): string {
  const shown = outcomes.filter((outcome) => isChange(outcome) || outcome.action === "skipped");
  const verb = command === "diff" ? "would be issued" : "issued";
  return [
    ...shown.flatMap((outcome) => [lineOf(outcome), ...(outcome.changes ?? []).map(changeOf)]),
    ...issued.map(({ name, why }) => `certificate ${name} ${verb}: ${why}\n`),
    summary(outcomes),
  ].join("");
}

function lineOf({ side, object, action, why }: Outcome): string {
  return `${action.padEnd(9)}  ${places[side].padEnd(10)}  ${object}${why === undefined ? "" : `: ${why}`}\n`;
}

function changeOf({ path, before, after }: Change): string {
  return `             ${path}: ${shown(before)} -> ${shown(after)}\n`;
}

function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const line = text.replace(/\s+/g, " ");
  return line.length <= LONGEST_VALUE ? line : `${line.slice(0, LONGEST_VALUE)}...`;
}

function summary(outcomes: readonly Outcome[]): string {
  const count = (action: Outcome["action"]): number => outcomes.filter((outcome) => outcome.action === action).length;
  const words = (["created", "changed", "deleted", "released", "skipped", "unchanged"] as const)
    .filter((action) => count(action) > 0)
    .map((action) => `${count(action)} ${action}`);
  return `${words.length === 0 ? "nothing to do" : words.join(", ")}\n`;
}
