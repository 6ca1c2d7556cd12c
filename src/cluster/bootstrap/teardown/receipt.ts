/** The record of what was opened and what became of it. */
import type { FirewallPlan } from "../firewall/plan.js";
import type { BridgeThing } from "../model/created.js";

export type FinalState =
  | "removed"
  /** A change that was taken back. */
  | "restored"
  /** The API has taken the order; its controllers finish it without us. */
  | "going"
  /** It was not there. */
  | "absent"
  /** It is there still, and nobody is on it. */
  | "left"
  /** Nobody recorded it, and whether it is there could not be asked. */
  | "unknown";

/** What became of one thing. */
export interface Removal {
  readonly state: FinalState;
  /** Half a sentence; empty where the state says it all. */
  readonly detail: string;
  /** The teardown did nothing about it; so it is by default with what is absent. */
  readonly isUntouched?: boolean;
}

export interface ReceiptItem {
  /** One text for each thing. */
  readonly name: string;
  readonly thing: BridgeThing;
  /** When `up` was about to make it, ISO 8601; undefined without a record. */
  readonly openedAt: string | undefined;
  readonly state: FinalState;
  readonly detail: string;
}

export interface Receipt {
  readonly version: 1;
  readonly bridge: {
    readonly for: string;
    readonly namespace: string;
    readonly address: string | undefined;
    readonly port: number;
    readonly madeAt: string | undefined;
  };
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Nothing was there to begin with, or all of it was being removed already. */
  readonly nothingToDo: boolean;
  /** Nothing of ours is left. */
  readonly clean: boolean;
  /** 0 clean; 1 stopped before anything could break; 3 something is left, or the API did not answer. */
  readonly exitCode: 0 | 1 | 3;
  /** Undefined when nobody asked it. */
  readonly apiAnswered: boolean | undefined;
  readonly items: readonly ReceiptItem[];
  /** What only somebody else can remove. */
  readonly others: {
    /** The firewall's rules, by the platform that has them; undefined, with the reason in a note, when no plan can be made. */
    readonly firewall:
      | Pick<FirewallPlan, "platform" | "rule" | "where" | "removed" | "forgotten" | "remove">
      | undefined;
    readonly notes: readonly string[];
  };
  /** One sentence each. */
  readonly warnings: readonly string[];
}

const meanings: Readonly<Record<ReceiptItem["state"], string>> = {
  removed: "removed",
  restored: "restored",
  going: "being removed",
  absent: "was not there",
  left: "**left**",
  unknown: "**not known**",
};

/** A receipt for people. */
export function receiptMarkdown(receipt: Receipt): string {
  const { bridge, items, warnings, others, nothingToDo, apiAnswered } = receipt;
  const known = items.filter(({ state, openedAt }) => state !== "absent" || openedAt !== undefined);
  const unseen = items.length - known.length;
  const rows = known.map(({ name, openedAt = "", state, detail }) => [
    `\`${name}\``,
    openedAt,
    meanings[state],
    detail,
  ]);
  const places = unseen === 1 ? "place was" : "places were";
  const parts = [
    "# Receipt of a bridge",
    verdict(receipt),
    table([
      ["", ""],
      ["Kind", bridge.for],
      ["Namespace", bridge.namespace],
      ["Agents dialled", `${bridge.address ?? "not recorded"}, TCP ${bridge.port}`],
      ["Made", bridge.madeAt ?? "not recorded"],
      ["Teardown", `${receipt.startedAt} to ${receipt.finishedAt}`],
      ["Kubernetes API", apiAnswered === undefined ? "not asked" : apiAnswered ? "answered" : "did not answer"],
      ["Exit code", String(receipt.exitCode)],
    ]),
    warnings.length > 0 && `## Warnings\n\n${list(warnings)}`,
    known.length > 0 && `## What was opened or made\n\n${table([["What", "Opened", "Now", "Remark"], ...rows])}`,
    unseen > 0 && `${unseen} more ${places} looked at, and nothing was there.`,
    !(nothingToDo && others.firewall === undefined) && elsewhere(others),
  ];
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function verdict({ clean, nothingToDo, items, exitCode }: Receipt): string {
  if (nothingToDo) {
    const going = items.filter(({ state }) => state === "going").map(({ name }) => name);
    if (going.length === 0) return "Nothing of a bridge was there. Nothing was changed.";
    return `Nothing to do: ${going.join(", ")} was ordered to go before and is terminating. Nothing was changed.`;
  }
  const left = items.filter(({ state }) => state === "left").length;
  if (exitCode === 1 && left === 0)
    return "**Stopped.** The kube-apiserver may still use the bridge, so nothing was removed; the warnings say what to do.";
  if (exitCode === 1) return "**Stopped.** The kube-apiserver still uses the bridge, so what it needs was not removed.";
  if (clean) return "**Clean.** Everything of the bridge is gone or being removed.";
  if (left === 0) return "**Not clean.** What is left is not known; the warnings say why.";
  const unknown = items.filter(({ state }) => state === "unknown").length;
  const more = unknown === 0 ? "" : `, and of ${unknown} more it is not known`;
  return `**Not clean.** ${left} of ${items.length} things are left${more}; run the teardown again.`;
}

function elsewhere({ firewall, notes }: Receipt["others"]): string {
  const parts = ["## What somebody else must still remove"];
  if (firewall !== undefined) {
    const { platform, rule, where, removed, forgotten, remove } = firewall;
    parts.push(
      `Rules that let TCP ${rule.port} through to the bootstrap host (platform ${platform}, in ${where}), if any were opened:`,
      list(removed.map(({ by, what }) => `${by}: ${what}.`)),
    );
    if (forgotten.length > 0) parts.push("Stays behind unless somebody acts:", list(forgotten));
    for (const { title, language, text } of remove) {
      parts.push(language === "words" ? `${title}: ${text}` : `${title}:\n\n\`\`\`${language}\n${text}\n\`\`\``);
    }
  }
  if (notes.length > 0) parts.push(list(notes));
  return parts.join("\n\n");
}

function list(sentences: readonly string[]): string {
  return sentences.map((sentence) => `- ${sentence}`).join("\n");
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}
