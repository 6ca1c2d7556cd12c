import type { SourceInfo } from "../../src/insight/observe/admin/contract.js";
import { count, timeOfDay } from "../../src/insight/watch/view/format.js";

/** Whether whoever was asked for this answers. Nothing to say when all is well. */
export function SourceState({ source }: { source: SourceInfo | undefined }) {
  if (source === undefined) return null;
  const { state, error, remedy, answeredAt, leftOut } = source;
  if (state === "asking") return <p class="quiet">Waiting for the first answer…</p>;
  if (state === "failing")
    return (
      <p class="problem name" role="alert">
        {error}
        {remedy !== undefined && ` ${remedy}`}
        {answeredAt !== undefined && ` What follows is from ${timeOfDay(answeredAt)}.`}
      </p>
    );
  return leftOut === undefined ? null : <p class="quiet">{count(leftOut)} more are not listed.</p>;
}
