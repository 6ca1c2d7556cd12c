import { useState } from "preact/hooks";
import type { TunnelRow } from "../../src/insight/observe/admin/contract.js";
import { bytesText, durationText, timeOfDay } from "../../src/insight/watch/view/format.js";
import { waterfall } from "../../src/insight/watch/view/waterfall.js";
import { closeTunnel } from "../state/api.js";

export function TunnelDetail({ tunnel, now, onClose }: { tunnel: TunnelRow; now: number; onClose: () => void }) {
  const isOver = tunnel.marks.ended !== undefined;
  return (
    <aside class="detail" aria-label={`Tunnel to ${tunnel.target}`}>
      <div class="bar">
        <h3>{tunnel.target}</h3>
        <button type="button" onClick={onClose} aria-label="Close this view">
          ×
        </button>
      </div>
      <Life tunnel={tunnel} now={now} />
      <dl class="facts">
        <Fact name="came in by" value={[tunnel.frontend, tunnel.listener].filter(Boolean).join(", ")} />
        <Fact name="carried by" value={tunnel.agent?.id ?? tunnel.server?.id ?? ""} />
        <Fact name="asked at" value={timeOfDay(tunnel.askedAt)} />
        <Fact name="to the target" value={bytesText(tunnel.bytesToTarget)} />
        <Fact name="from the target" value={bytesText(tunnel.bytesFromTarget)} />
        <Fact
          name="may still send"
          value={tunnel.sendWindowBytes === undefined ? "" : bytesText(tunnel.sendWindowBytes)}
        />
        <Fact name="waits for its reader" value={tunnel.queuedBytes === 0 ? "" : bytesText(tunnel.queuedBytes)} />
        <Fact name="last error" value={tunnel.lastError ?? ""} />
        <Fact name="ended because" value={tunnel.endReason ?? ""} />
        <Fact name="refusal" value={tunnel.refusalId ?? ""} />
      </dl>
      {!isOver && <Cut key={tunnel.id} id={tunnel.id} />}
    </aside>
  );
}

function Life({ tunnel, now }: { tunnel: TunnelRow; now: number }) {
  const { lengthMs, bars, events } = waterfall(tunnel, now);
  const percent = (ms: number) => `${Math.min(100, (ms / lengthMs) * 100).toFixed(2)}%`;
  return (
    <ol class="waterfall" aria-label="Its life">
      {bars.map(({ label, fromMs, toMs, kind }) => (
        <li key={label}>
          <span class="label">
            {label} <span class="quiet">{durationText(toMs - fromMs)}</span>
          </span>
          <span class="track" aria-hidden="true">
            <span
              class={`span ${kind}`}
              style={{ left: percent(fromMs), width: percent(Math.max(0, toMs - fromMs)) }}
            />
          </span>
        </li>
      ))}
      {events.map(({ label, atMs }) => (
        <li key={label}>
          <span class="label">
            {label} <span class="quiet">after {durationText(atMs)}</span>
          </span>
          <span class="track" aria-hidden="true">
            <span class="span mark" style={{ left: percent(atMs) }} />
          </span>
        </li>
      ))}
    </ol>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  if (value === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** Asks once more before it cuts: somebody may be in a shell at the other end. */
function Cut({ id }: { id: number }) {
  const [asked, setAsked] = useState(false);
  const [outcome, setOutcome] = useState("");
  const cut = () =>
    closeTunnel(id).then(
      () => setOutcome("It is being closed."),
      (error: Error) => setOutcome(error.message),
    );
  return (
    <p class="bar">
      {asked ? (
        <button type="button" class="danger" onClick={() => void cut()}>
          Really close both ends
        </button>
      ) : (
        <button type="button" onClick={() => setAsked(true)}>
          Close this tunnel
        </button>
      )}
      <span role="status">{outcome}</span>
    </p>
  );
}
