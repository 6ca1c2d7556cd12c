import { useMemo, useRef, useState } from "preact/hooks";
import type { TunnelRow } from "../../src/insight/observe/admin/contract.js";
import { bytesText, count, durationText } from "../../src/insight/watch/view/format.js";
import type { ProcessView } from "../../src/insight/watch/view/process-view.js";
import { type Column, listTunnels, type Order, peerName } from "../../src/insight/watch/view/tunnel-list.js";
import { TunnelDetail } from "./tunnel-detail.js";

const ROW = 30;
const HEIGHT = 360;
/** Drawn above and below what is seen, so that quick scrolling meets rows. */
const SPARE = 6;

const COLUMNS: readonly { readonly id: Column; readonly name: string; readonly numeric?: true }[] = [
  { id: "target", name: "Target" },
  { id: "peer", name: "Carried by" },
  { id: "state", name: "State" },
  { id: "age", name: "Age", numeric: true },
  { id: "to", name: "To target", numeric: true },
  { id: "from", name: "From target", numeric: true },
  { id: "queued", name: "Waiting", numeric: true },
];

/** It does not say which server carries a tunnel. */
const COLUMNS_OF_SIDECAR = COLUMNS.map((column) => (column.id === "peer" ? { ...column, name: "Came in by" } : column));

/** Ten thousand tunnels, of which the screen's worth is drawn. `version` says when there is something new to sort. */
export function Tunnels({ view, now, version }: { view: ProcessView; now: number; version: number }) {
  const [search, setSearch] = useState("");
  const [order, setOrder] = useState<Order>({ column: "age", descending: true });
  const [showEnded, setShowEnded] = useState(false);
  const [chosen, setChosen] = useState<number>();
  const [top, setTop] = useState(0);
  const body = useRef<HTMLDivElement>(null);

  const columns = view.facts.process.role === "sidecar" ? COLUMNS_OF_SIDECAR : COLUMNS;
  const source = showEnded ? view.ended : [...view.tunnels.values()];
  const rows = useMemo(() => listTunnels(source, search, order), [version, search, order, showEnded]);
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const seen = rows.slice(first, first + Math.ceil(HEIGHT / ROW) + 2 * SPARE);
  const detail =
    chosen === undefined ? undefined : (view.tunnels.get(chosen) ?? view.ended.find(({ id }) => id === chosen));

  const step = (event: KeyboardEvent) => {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (event.key === "Escape") setChosen(undefined);
    if (move === undefined || rows.length === 0) return;
    event.preventDefault();
    const at = rows.findIndex(({ id }) => id === chosen);
    const next = Math.min(rows.length - 1, Math.max(0, at + move));
    setChosen(rows[next]?.id);
    const element = body.current;
    if (element === null) return;
    if (next * ROW < element.scrollTop) element.scrollTop = next * ROW;
    else if ((next + 1) * ROW > element.scrollTop + HEIGHT) element.scrollTop = (next + 1) * ROW - HEIGHT;
  };

  return (
    <section class="panel tunnels" aria-labelledby="tunnels-title">
      <div class="bar">
        <h2 id="tunnels-title">Tunnels</h2>
        <label class="choice">
          <input type="checkbox" checked={showEnded} onChange={(event) => setShowEnded(event.currentTarget.checked)} />
          ended tunnels
        </label>
        <input
          type="search"
          aria-label="Search tunnels"
          placeholder="target, name, state, error…"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <span class="quiet" role="status">
          {count(rows.length)} of {count(source.length)}
        </span>
      </div>
      <div class={detail === undefined ? "" : "list-and-detail"}>
        <div
          role="grid"
          aria-label="Tunnels"
          aria-rowcount={rows.length + 1}
          tabIndex={0}
          onKeyDown={step}
          aria-activedescendant={seen.some(({ id }) => id === chosen) ? `tunnel-${chosen}` : undefined}
        >
          <div role="row" class={rows.length * ROW > HEIGHT ? "row head scrolls" : "row head"} aria-rowindex={1}>
            {columns.map((column) => (
              <Heading key={column.id} column={column} order={order} onOrder={setOrder} />
            ))}
          </div>
          {rows.length > 0 && (
            <div
              role="rowgroup"
              class="rows"
              ref={body}
              style={{ height: `${Math.min(HEIGHT, rows.length * ROW)}px` }}
              onScroll={(event) => setTop(event.currentTarget.scrollTop)}
              tabIndex={-1}
            >
              <div style={{ height: `${rows.length * ROW}px`, position: "relative" }} role="presentation">
                <div style={{ transform: `translateY(${first * ROW}px)` }} role="presentation">
                  {seen.map((tunnel, index) => (
                    <Row
                      key={tunnel.id}
                      tunnel={tunnel}
                      now={now}
                      index={first + index + 2}
                      chosen={tunnel.id === chosen}
                      onChoose={setChosen}
                    />
                  ))}
                </div>
              </div>
            </div>
          )}
          {rows.length === 0 && (
            <div role="row" class="quiet empty">
              <div role="gridcell">{empty(source.length, showEnded)}</div>
            </div>
          )}
        </div>
        {detail !== undefined && <TunnelDetail tunnel={detail} now={now} onClose={() => setChosen(undefined)} />}
      </div>
    </section>
  );
}

function Heading(props: { column: (typeof COLUMNS)[number]; order: Order; onOrder: (order: Order) => void }) {
  const { column, order, onOrder } = props;
  const isChosen = order.column === column.id;
  const direction = order.descending ? "descending" : "ascending";
  return (
    <div role="columnheader" class={cellClass(column)} aria-sort={isChosen ? direction : "none"}>
      <button
        type="button"
        onClick={() =>
          onOrder({ column: column.id, descending: isChosen ? !order.descending : column.numeric === true })
        }
      >
        {column.name}
        <span aria-hidden="true">{isChosen ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </div>
  );
}

function Row(props: {
  tunnel: TunnelRow;
  now: number;
  index: number;
  chosen: boolean;
  onChoose: (id: number) => void;
}) {
  const { tunnel, now, index, chosen, onChoose } = props;
  const age = tunnel.marks.ended ?? now - tunnel.askedAt;
  const cells: Record<Column, string> = {
    target: tunnel.target,
    peer: peerName(tunnel),
    state: tunnel.paused === true ? `${tunnel.state}, held back` : tunnel.state,
    age: durationText(age),
    to: bytesText(tunnel.bytesToTarget),
    from: bytesText(tunnel.bytesFromTarget),
    queued: tunnel.queuedBytes === 0 ? "" : bytesText(tunnel.queuedBytes),
  };
  return (
    // The grid itself has the keyboard: its arrow keys move the choice.
    <div
      role="row"
      id={`tunnel-${tunnel.id}`}
      class={`row ${tunnel.state}`}
      aria-rowindex={index}
      aria-selected={chosen}
      onClick={() => onChoose(tunnel.id)}
      tabIndex={-1}
    >
      {COLUMNS.map((column) => (
        <div key={column.id} role="gridcell" class={cellClass(column)} title={cells[column.id]}>
          {cells[column.id]}
        </div>
      ))}
    </div>
  );
}

const cellClass = ({ id, numeric }: (typeof COLUMNS)[number]): string => `cell ${id}${numeric ? " numeric" : ""}`;

function empty(all: number, showEnded: boolean): string {
  if (all > 0) return "Nothing fits the search.";
  return showEnded ? "None has ended yet." : "No tunnel is open.";
}
