import { useState } from "preact/hooks";
import type { ChoiceExplanation, ExplainedRefusal, HistoryInfo } from "../../src/insight/observe/admin/contract.js";
import { type ShownFailure, shownFailures } from "../../src/insight/watch/view/failures.js";
import { count, durationText, timeOfDay } from "../../src/insight/watch/view/format.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import { refusal as fetchRefusal } from "../state/api.js";

const SHOWN = 30;

/** What does not work: one row for each target and reason. */
export function Failures({ past, view }: { past: HistoryInfo | undefined; view: ProcessView }) {
  const { role } = view.facts.process;
  const all = shownFailures(past, view.refusals, view.ended);
  const isIgnition = role === "ignition";
  return (
    <section class="panel" aria-labelledby="failures-title">
      <h2 id="failures-title">
        {isIgnition ? "Requests refused" : "Dials refused or failed"}, and why{" "}
        <span class="quiet">{count(all.reduce((times, group) => times + group.count, 0))}</span>
      </h2>
      {all.length === 0 && (
        <p class="quiet">{isIgnition ? "No machine was refused." : "No request was refused, and no dial failed."}</p>
      )}
      {all.length > 0 && (
        <ul class="scroll refusals" tabIndex={0} aria-labelledby="failures-title">
          {all.slice(0, SHOWN).map((failure) => (
            <li key={`${failure.target} ${failure.reason} ${failure.firstAt}`}>
              <OneFailure failure={failure} isDial={!isIgnition} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function OneFailure({ failure, isDial }: { failure: ShownFailure; isDial: boolean }) {
  const { target, reason, count: times, firstAt, lastAt, peers, refusal, tunnel } = failure;
  const [whole, setWhole] = useState<ExplainedRefusal>();
  const explain = (event: Event) => {
    if ((event.currentTarget as HTMLDetailsElement).open && whole === undefined && refusal !== undefined)
      fetchRefusal(refusal.id).then(setWhole, () => setWhole(refusal));
  };
  const facts: [string, string | undefined][] = [
    ["times", count(times)],
    ["first", timeOfDay(firstAt)],
    ["last", times === 1 ? undefined : timeOfDay(lastAt)],
    ["tried by", peers.join(", ") || undefined],
    ["ended after", tunnel?.marks.ended === undefined ? undefined : durationText(tunnel.marks.ended)],
    ["came in by", [tunnel?.frontend, tunnel?.listener].filter(Boolean).join(", ") || undefined],
    ["asked by", refusal?.remote],
    ["code", refusal?.code],
    ["reference", refusal?.id],
  ];
  return (
    <details onToggle={explain}>
      <summary>
        <span class={`pill ${isDial ? "bad" : "warn"}`}>{count(times)} ×</span> <strong>{target || "no name"}</strong>{" "}
        {reason} <span class="quiet">last {timeOfDay(lastAt)}</span>
      </summary>
      <dl class="facts">
        {facts.map(
          ([name, value]) =>
            value !== undefined && (
              <>
                <dt key={name}>{name}</dt>
                <dd>{value}</dd>
              </>
            ),
        )}
      </dl>
      {whole?.explanation !== undefined && <Choice explanation={whole.explanation} />}
      {isDial && (
        <p class="remedy">
          <code>
            drawbridge {whole?.explanation === undefined ? "trace" : "explain"} {target}
          </code>{" "}
          {whole?.explanation === undefined ? "dials it once and says where that ends." : "says who would carry it."}
        </p>
      )}
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
