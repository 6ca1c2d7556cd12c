import { sum } from "../../src/base/sum.js";
import type { HistoryInfo, Totals } from "../../src/insight/observe/admin/contract.js";
import { bytesText, count, durationText, rateText, shareText } from "../../src/insight/watch/view/format.js";
import type { Rates } from "../../src/insight/watch/view/history.js";
import { type Severity, shareSeverity } from "../../src/insight/watch/view/severity.js";

interface TilesProps {
  readonly totals: Totals;
  readonly rates: Rates | undefined;
  readonly past: HistoryInfo | undefined;
}

export function Tiles({ totals, rates, past }: TilesProps) {
  // An Ignition server carries nothing, so that rates of bytes and dials would be zero for ever.
  if (totals.payloadsServed !== undefined) return <Fetches totals={totals} />;
  const { p50Ms, p99Ms } = past?.total ?? {};
  const asked = sum(past?.total.dials ?? []);
  const failed = sum(past?.total.failures ?? []);
  return (
    <section class="tiles" aria-label="At this moment">
      <Tile
        name="from targets"
        value={rateText(rates?.fromTarget)}
        note={`${bytesText(totals.bytesFromTarget)} in all`}
      />
      <Tile name="to targets" value={rateText(rates?.toTarget)} note={`${bytesText(totals.bytesToTarget)} in all`} />
      <Tile name="tunnels" value={count(totals.tunnelsOpen)} note={dialNote(totals)} />
      <Tile name="dials" value={dialRate(past, rates)} note={`${count(totals.dialsEstablished)} tunnels in all`} />
      <Tile
        name="failed dials"
        value={asked === 0 ? "–" : shareText(failed, asked)}
        severity={past === undefined ? "good" : shareSeverity(past.total)}
        note={`${count(failed)} of ${count(asked)} in 10 min`}
      />
      <Tile
        name="time to dial"
        value={p50Ms === undefined ? "–" : durationText(p50Ms)}
        note={p99Ms === undefined ? "p50 of 10 min" : `p50, p99 is ${durationText(p99Ms)}`}
      />
      <Tile name="waiting for readers" value={bytesText(totals.queuedBytes)} note="held in this process" />
    </section>
  );
}

const MINUTE = 6;

/** A few dials a second are none in one second and four in the next, so that a minute is told; the present step is not over. */
function dialRate(past: HistoryInfo | undefined, rates: Rates | undefined): string {
  const minute = past?.total.dials.slice(-MINUTE - 1, -1) ?? [];
  if (sum(minute) > 0) return perSecond((sum(minute) * 1000) / (MINUTE * past!.stepMs));
  return rates === undefined ? "–" : perSecond(rates.dials + rates.failures);
}

const perSecond = (value: number): string => `${value < 10 ? value.toFixed(1) : count(value)}/s`;

function Fetches({ totals }: { totals: Totals }) {
  return (
    <section class="tiles" aria-label="Since the start">
      <Tile name="payloads served" value={count(totals.payloadsServed ?? 0)} note="since the start" />
      <Tile name="fetches refused" value={count(totals.fetchesRefused ?? 0)} note="the reasons are below" />
    </section>
  );
}

interface TileProps {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly severity?: Severity;
}

function Tile({ name, value, note, severity = "good" }: TileProps) {
  return (
    <dl class={`tile ${severity}`}>
      <dt>{name}</dt>
      <dd class="value">{value}</dd>
      <dd class="note">{note}</dd>
    </dl>
  );
}

function dialNote({ dialsPending, dialsWaiting = 0 }: Totals): string {
  const dialled = `${count(dialsPending - dialsWaiting)} being dialled`;
  return dialsWaiting === 0 ? dialled : `${dialled}, ${count(dialsWaiting)} waiting for an agent`;
}
