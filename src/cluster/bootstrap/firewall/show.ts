/** A plan for people: who does what and when first, then what to paste. */
import type { PatchResult } from "./manifest/patch.js";
import type { Deed, FirewallPlan, Step } from "./plan.js";

export function showPlan(plan: FirewallPlan): string {
  const { platform, provisioning, rule, infraId } = plan;
  const cluster = platform === "host" ? "" : `, cluster ${infraId}`;
  return paragraphs(
    `Firewall plan for ${platform} (provisioned by: ${provisioning}${cluster})`,
    table([
      ["Let through", `${rule.proto.toUpperCase()} ${rule.port} to the bootstrap host`],
      ["From", plan.sources.join(", ")],
      ["In", plan.where],
      ["Until", "bootstrap is complete"],
    ]),
    deeds("Who opens it", plan.opened),
    deeds("Who takes it away", plan.removed),
    list("Stays behind unless you act", plan.forgotten),
    steps("Open it yourself", plan.open),
    steps("Take it away yourself", plan.remove),
    list("Notes", plan.notes),
  );
}

export function showPatch({ file, kind, cluster, changes, notes }: PatchResult, verb: "opened" | "closed"): string {
  const lines = changes.map(({ where, rule }) => `${verb}: ${rule} (${where})`);
  const head = `${file} (${kind} ${cluster}): ${changes.length === 0 ? "unchanged" : "changed"}`;
  return `${[head, ...lines, ...notes].join("\n")}\n`;
}

function paragraphs(...parts: readonly string[]): string {
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}   ${value}`).join("\n");
}

function deeds(title: string, all: readonly Deed[]): string {
  return [`${title}:`, ...all.map(({ by, what }) => `  - ${by}: ${what}.`)].join("\n");
}

function list(title: string, sentences: readonly string[]): string {
  return sentences.length === 0 ? "" : [`${title}:`, ...sentences.map((sentence) => `  - ${sentence}`)].join("\n");
}

/** Without indentation, so that a block can be copied as it is. */
function steps(title: string, all: readonly Step[]): string {
  return [`${title}:`, ...all.map((step) => `\n  # ${step.title}\n\n${step.text}`)].join("\n");
}
