import type { Totals } from "../../src/insight/observe/admin/contract.js";
import { bytesText, count, durationText, rateText } from "../../src/insight/watch/view/format.js";
import type { Rates } from "../../src/insight/watch/view/history.js";

export function Tiles({ totals, rates }: { totals: Totals; rates: Rates | undefined }) {
  // An Ignition server carries nothing, so that rates of bytes and dials would be zero for ever.
  if (totals.payloadsServed !== undefined) return <Fetches totals={totals} />;
  const { dialMs = null } = rates ?? {};
  return (
    <section class="tiles" aria-label="At this moment">
      <Tile
        name="from targets"
        value={rateText(rates?.fromTarget)}
        note={`${bytesText(totals.bytesFromTarget)} in all`}
      />
      <Tile name="to targets" value={rateText(rates?.toTarget)} note={`${bytesText(totals.bytesToTarget)} in all`} />
      <Tile name="tunnels" value={count(totals.tunnelsOpen)} note={`${count(totals.dialsPending)} being dialled`} />
      <Tile
        name="new tunnels"
        value={rates === undefined ? "–" : `${rates.dials < 10 ? rates.dials.toFixed(1) : count(rates.dials)}/s`}
        note={`${count(totals.dialsEstablished)} in all`}
      />
      <Tile
        name="time to dial"
        value={dialMs === null ? "–" : durationText(dialMs)}
        note={`${count(totals.dialsFailed)} failed`}
        alarming={(rates?.failures ?? 0) > 0}
      />
      <Tile name="waiting for readers" value={bytesText(totals.queuedBytes)} note="held in this process" />
    </section>
  );
}

function Fetches({ totals }: { totals: Totals }) {
  return (
    <section class="tiles" aria-label="Since the start">
      <Tile name="payloads served" value={count(totals.payloadsServed ?? 0)} note="since the start" />
      <Tile name="fetches refused" value={count(totals.fetchesRefused ?? 0)} note="the reasons are below" />
    </section>
  );
}

function Tile(props: { name: string; value: string; note: string; alarming?: boolean }) {
  return (
    <dl class={props.alarming === true ? "tile alarming" : "tile"}>
      <dt>{props.name}</dt>
      <dd class="value">{props.value}</dd>
      <dd class="note">{props.note}</dd>
    </dl>
  );
}
