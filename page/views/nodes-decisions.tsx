import type { DecisionInfo } from "../../src/insight/observe/admin/contract.js";
import { timeOfDay } from "../../src/insight/watch/view/format.js";

const MOODS: Record<DecisionInfo["outcome"], string> = {
  approved: "good",
  pending: "warn",
  denied: "bad",
  failed: "bad",
  gone: "warn",
};

const WOULD = {
  approve: "an approver would approve it",
  deny: "an approver would deny it",
  leave: "an approver would leave it pending",
};

/** What became of each request, and why. */
export function Decisions({ decisions }: { decisions: readonly DecisionInfo[] }) {
  if (decisions.length === 0) return <p class="quiet">No kubelet has asked for a certificate.</p>;
  return (
    <section class="scroll" tabIndex={0} aria-label="List of certificate requests">
      <ul class="refusals">
        {decisions.map((decision) => (
          <li key={`${decision.request} ${decision.at}`}>
            <span class="quiet">{timeOfDay(decision.at)}</span>{" "}
            <span class={`pill ${MOODS[decision.outcome]}`}>{decision.outcome}</span>{" "}
            <strong>{decision.node || decision.request}</strong> {decision.why}
            <br />
            <span class="quiet">{remarks(decision).join(" · ")}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function remarks({ request, kind, pool, user, would, rule, by }: DecisionInfo): string[] {
  return [
    would !== undefined && WOULD[would],
    rule !== undefined && `rule ${rule}`,
    request,
    kind !== undefined && `${kind} certificate`,
    pool !== undefined && `pool ${pool}`,
    user !== undefined && `asked by ${user}`,
    by !== undefined && `decided by ${by}`,
  ].filter((remark) => remark !== false);
}
