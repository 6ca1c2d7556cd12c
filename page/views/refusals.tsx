import { useState } from "preact/hooks";
import type {
  ChoiceExplanation,
  ExplainedRefusal,
  Refusal,
  Role,
  TunnelRow,
} from "../../src/insight/observe/admin/contract.js";
import { count, timeOfDay } from "../../src/insight/watch/view/format.js";
import { peerName } from "../../src/insight/watch/view/tunnel-list.js";
import { refusal as fetchRefusal } from "../state/api.js";

const SHOWN = 30;

interface RefusalsProps {
  readonly refusals: readonly Refusal[];
  readonly ended: readonly TunnelRow[];
  readonly role: Role;
}

/** What was refused here, and what was tried and failed further out: to the caller both mean that it does not work. */
export function Refusals({ refusals, ended, role }: RefusalsProps) {
  const known = new Set(refusals.map(({ id }) => id));
  const failed = ended.filter(({ state, refusalId }) => state === "failed" && !known.has(refusalId ?? ""));
  const all = [...refusals, ...failed.map(asRefusal)].sort((a, b) => b.at - a.at);
  return (
    <section class="panel" aria-labelledby="refusals-title">
      <h2 id="refusals-title">
        {role === "ignition" ? "Requests refused" : "Dials refused or failed"}, and why{" "}
        <span class="quiet">{count(all.length)}</span>
      </h2>
      {all.length === 0 && (
        <p class="quiet">
          {role === "ignition" ? "No machine was refused." : "No request was refused, and no dial failed."}
        </p>
      )}
      <ul class="scroll refusals" tabIndex={0} aria-labelledby="refusals-title">
        {all.slice(0, SHOWN).map((refusal) => (
          <li key={`${refusal.id} ${refusal.at} ${refusal.target}`}>
            <OneRefusal refusal={refusal} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function asRefusal(tunnel: TunnelRow): Refusal {
  const at = tunnel.askedAt + (tunnel.marks.ended ?? 0);
  const who = peerName(tunnel);
  const why = tunnel.lastError ?? tunnel.endReason ?? "no reason was given";
  return { id: "", at, target: tunnel.target, why: who === "" ? why : `${why} (tried by ${who})` };
}

function OneRefusal({ refusal }: { refusal: Refusal }) {
  const [whole, setWhole] = useState<ExplainedRefusal>();
  const explain = (event: Event) => {
    if ((event.currentTarget as HTMLDetailsElement).open && whole === undefined && refusal.id !== "")
      fetchRefusal(refusal.id).then(setWhole, () => setWhole(refusal));
  };
  return (
    <details onToggle={explain}>
      <summary>
        <span class="quiet">{timeOfDay(refusal.at)}</span> <strong>{refusal.target || "no name"}</strong> {refusal.why}
      </summary>
      <p class="quiet">
        {[refusal.code, refusal.id !== "" && `reference ${refusal.id}`, refusal.remote && `asked by ${refusal.remote}`]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {whole?.explanation !== undefined && <Choice explanation={whole.explanation} />}
    </details>
  );
}

function Choice({ explanation }: { explanation: ChoiceExplanation }) {
  const { agentsConnected, strategies, considered } = explanation;
  return (
    <>
      <p>
        {count(agentsConnected)} agents were connected; tried in this order:{" "}
        {strategies.map(({ name, matches }) => `${name} (${count(matches)} fit)`).join(", ") || "nothing"}.
      </p>
      <ul>
        {considered.map(({ agentId, stream, passedOver }) => (
          <li key={stream}>
            <strong>{agentId}</strong>: {passedOver}
          </li>
        ))}
      </ul>
    </>
  );
}
