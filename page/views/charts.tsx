import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { HistoryInfo } from "../../src/insight/observe/admin/contract.js";
import { count, durationText, rateText, timeOfDay } from "../../src/insight/watch/view/format.js";
import type { Columns } from "../../src/insight/watch/view/history.js";
import { sparkline } from "../../src/insight/watch/view/sparkline.js";
import { minuteTicks, ticks } from "../../src/insight/watch/view/ticks.js";
import { useWidth } from "./use-width.js";

const HEIGHT = 96;
/** Of the texts at the left and below. */
const LEFT = 66;
const BELOW = 18;
const SECONDS = 600;
/** Of a time below: where it would be cut there is none. */
const HALF_LABEL = 10;

interface ChartsProps {
  readonly columns: Columns;
  readonly past: HistoryInfo | undefined;
  /** The reader's clock. */
  readonly now: number;
  readonly clockSkewMs: number;
}

export function Charts({ columns, past, now, clockSkewMs }: ChartsProps) {
  const { at, toTarget, fromTarget } = columns;
  // Of whole steps: the mean of a second is often that of one dial. The present step is not over.
  const dialMs = past?.total.dialMs?.slice(0, -1) ?? [];
  const dialAt = dialMs.map((_, step) => (past!.fromAt + (step + 1) * past!.stepMs + clockSkewMs) / 1000);
  const dials = past?.total.dials ?? [];
  const failures = past?.total.failures ?? [];
  const established = dials.map((all, step) => all - failures[step]!);
  const dialsAt = (second: number, counts: readonly number[]): number | undefined =>
    past && counts[Math.floor((second * 1000 - clockSkewMs - past.fromAt) / past.stepMs)];
  const mostDials = Math.max(0, ...dials);
  // A millisecond more or less is no height worth showing.
  const slowest = Math.max(1, ...dialMs.map((ms) => ms ?? 0));
  return (
    <section class="panel charts" aria-label="The last ten minutes">
      <Chart
        title="Throughput"
        words={`from targets ${spoken(fromTarget, rateText)}, to targets ${spoken(toTarget, rateText)}`}
        keys={[
          { label: "from targets", colour: "from", valueAt: (second) => valueAt(at, fromTarget, second) },
          { label: "to targets", colour: "to", valueAt: (second) => valueAt(at, toTarget, second) },
        ]}
        marks={ticks(Math.max(0, ...fromTarget, ...toTarget), "bytes")}
        format={rateText}
        now={now}
      >
        {(box) => (
          <>
            <path class="line from" d={linePath(at, fromTarget, now, box)} />
            <path class="line to" d={linePath(at, toTarget, now, box)} />
          </>
        )}
      </Chart>
      <Chart
        title="Dials in 10 s"
        words={`${count(mostDials)} at most`}
        keys={[
          { label: "established", colour: "dial", valueAt: (second) => dialsAt(second, established) },
          { label: "failed", colour: "failed", valueAt: (second) => dialsAt(second, failures) },
        ]}
        marks={ticks(mostDials, "count")}
        format={count}
        now={now}
      >
        {(box) => {
          if (past === undefined) return null;
          const bars = sparkline({ dials, failures }, box.width, box.height, box.high);
          const endAt = past.fromAt + past.stepMs * dials.length + clockSkewMs;
          const late = ((endAt - now) / 1000 / SECONDS) * box.width;
          return (
            <g transform={`translate(${late.toFixed(1)} 0)`} class="bars">
              <path class="dials" d={bars.dials} />
              <path class="failures" d={bars.failures} />
            </g>
          );
        }}
      </Chart>
      <Chart
        title="Time to dial, mean"
        words={spoken(dialMs, durationText)}
        keys={[{ label: "established", colour: "dial", valueAt: (second) => valueAt(dialAt, dialMs, second) }]}
        marks={ticks(slowest, "ms")}
        format={durationText}
        now={now}
      >
        {(box) => <path class="line dial" d={linePath(dialAt, dialMs, now, box)} />}
      </Chart>
    </section>
  );
}

interface Box {
  readonly width: number;
  readonly height: number;
  /** The value at the top. */
  readonly high: number;
}

interface Key {
  readonly label: string;
  readonly colour: string;
  /** Of a second since 1970; undefined where nothing is known. */
  readonly valueAt: (second: number) => number | undefined;
}

interface ChartProps {
  readonly title: string;
  /** For those who do not see it. */
  readonly words: string;
  readonly keys: readonly Key[];
  readonly marks: readonly number[];
  readonly format: (value: number) => string;
  readonly now: number;
  readonly children: (box: Box) => ComponentChildren;
}

function Chart({ title, words, keys, marks, format, now, children }: ChartProps) {
  const [place, whole] = useWidth();
  /** Where the pointer is, in pixels of the box. */
  const [pointed, setPointed] = useState<number>();
  const box: Box = { width: Math.max(0, whole - LEFT - 8), height: HEIGHT - BELOW - 6, high: marks.at(-1) ?? 1 };
  const apart = box.width < 200 ? 300 : 120;
  const y = (value: number): number => box.height * (1 - value / box.high);
  const second = pointed === undefined ? undefined : now / 1000 - (1 - pointed / box.width) * SECONDS;
  const point = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - LEFT;
    setPointed(x < 0 || x > box.width ? undefined : x);
  };
  return (
    <figure>
      <figcaption>
        {title}
        {second !== undefined && ` at ${timeOfDay(second * 1000)}`}
        {keys.map(({ label, colour, valueAt: read }) => {
          const value = second === undefined ? undefined : read(second);
          return (
            <span key={label} class={`key ${colour}`}>
              {value === undefined ? label : <strong>{format(value)}</strong>}
            </span>
          );
        })}
      </figcaption>
      <div ref={place} class="plot" onPointerMove={point} onPointerLeave={() => setPointed(undefined)}>
        <svg width={whole} height={HEIGHT} role="img" aria-label={`${title}: ${words}`}>
          <g transform={`translate(${LEFT} 6)`}>
            {marks.map((mark) => (
              <g key={mark}>
                <path class="grid" d={`M0 ${y(mark).toFixed(1)}h${box.width}`} />
                <text x="-8" y={y(mark) + 4} text-anchor="end">
                  {format(mark)}
                </text>
              </g>
            ))}
            {minuteTicks(now / 1000 - HALF_LABEL * (SECONDS / Math.max(1, box.width)), SECONDS, apart).map((at) => (
              <text key={at} x={xOf(at, now, box)} y={box.height + BELOW - 3} text-anchor="middle">
                {new Date(at * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}
              </text>
            ))}
            <svg width={box.width} height={box.height} aria-hidden="true">
              {children(box)}
              {pointed !== undefined && <path class="pointed" d={`M${pointed} 0v${box.height}`} />}
            </svg>
          </g>
        </svg>
      </div>
    </figure>
  );
}

const xOf = (at: number, now: number, { width }: Box): number => (1 - (now / 1000 - at) / SECONDS) * width;

/** How far from a measured point the pointer may be: two steps of what the process remembers. */
const NEAR_SECONDS = 20;

function valueAt(at: readonly number[], values: readonly (number | null)[], second: number): number | undefined {
  let found: number | undefined;
  let least = NEAR_SECONDS;
  at.forEach((each, index) => {
    const value = values[index];
    const apart = Math.abs(each - second);
    if (value === null || value === undefined || apart >= least) return;
    least = apart;
    found = value;
  });
  return found;
}

/** Where nothing was measured the line goes on to the next point; a lonely point is a dot. */
function linePath(at: readonly number[], values: readonly (number | null)[], now: number, box: Box): string {
  let path = "";
  values.forEach((value, index) => {
    if (value === null) return;
    const y = (1 - value / box.high) * (box.height - 2) + 1;
    path += `${path === "" ? "M" : "L"}${xOf(at[index]!, now, box).toFixed(1)} ${y.toFixed(1)}`;
  });
  return path === "" ? "" : `${path}h.1`;
}

function spoken(column: readonly (number | null)[], format: (value: number) => string): string {
  const value = column.findLast((each) => each !== null);
  return value === undefined || value === null ? "none yet" : format(value);
}
