import { durationText, zone } from "../../src/insight/watch/view/format.js";
import { placeOf } from "../../src/insight/watch/view/headline.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import type { Live, Phase } from "../state/live.js";

const STREAM: Record<Phase, string> = {
  asking: "connecting",
  locked: "locked",
  live: "live",
  waiting: "no answer, trying again",
};

export function Header({ live, facts, now }: { live: Live; facts: ProcessView["facts"]; now: number }) {
  const { process, path } = facts;
  return (
    <header>
      <h1 class="wordmark">drawbridge</h1>
      <p class="whoami">
        <strong>{process.role}</strong> <span class="name">{process.id}</span>
        <span class="quiet">
          {process.host !== undefined && ` on ${placeOf(process)}`} · {process.version} · up{" "}
          {durationText(now - process.startedAt)} · times in {zone()}
        </span>
      </p>
      <p class="states">
        {path?.state === "failing" && <span class="pill bad">path fails: {path.error ?? "no echo came back"}</span>}
        {process.draining && <span class="pill warn">draining</span>}
        <span class={process.ready ? "pill good" : "pill bad"}>
          {process.ready ? "ready" : `not ready: ${process.unreadyReason ?? "no reason was given"}`}
        </span>
        <span class={live.phase === "live" ? "pill good" : "pill warn"} role="status">
          {STREAM[live.phase]}
        </span>
      </p>
    </header>
  );
}
