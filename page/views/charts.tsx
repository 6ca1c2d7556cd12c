import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { durationText, rateText, timeOfDay } from "../../src/insight/watch/view/format.js";
import type { Columns } from "../../src/insight/watch/view/history.js";

interface Line {
  readonly label: string;
  /** A custom property of the style sheet, so that it fits light and dark. */
  readonly colour: string;
}

export function Charts({ columns }: { columns: Columns }) {
  const { at, toTarget, fromTarget, dialMs } = columns;
  return (
    <section class="panel charts" aria-labelledby="charts-title">
      <h2 id="charts-title">The last ten minutes</h2>
      <Chart
        title="Throughput"
        lines={[
          { label: "from targets", colour: "--from" },
          { label: "to targets", colour: "--to" },
        ]}
        data={[at, fromTarget, toTarget]}
        format={rateText}
      />
      <Chart
        title="Time to dial, average"
        lines={[{ label: "dial", colour: "--dial" }]}
        data={[at, dialMs]}
        format={durationText}
      />
    </section>
  );
}

type Data = readonly (readonly (number | null)[])[];

function Chart(props: { title: string; lines: readonly Line[]; data: Data; format: (value: number) => string }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const { title, lines, data, format } = props;

  useEffect(() => {
    const element = place.current as HTMLDivElement;
    const make = () => {
      plot.current?.destroy();
      plot.current = new uPlot(optionsFor(element, lines, format), [[], ...lines.map(() => [])], element);
    };
    make();
    const resized = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)));
    resized.observe(element);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
    };
    // Lines and format never change during the life of a chart.
  }, []);

  useEffect(() => plot.current?.setData(data as uPlot.AlignedData), [data[0]]);

  const latest = lines.map(({ label }, index) => `${label} ${spoken(data[index + 1], format)}`).join(", ");
  return (
    <figure>
      <figcaption>
        {title}
        {lines.map(({ label, colour }) => (
          <span key={label} class={`key ${colour.slice(2)}`}>
            {label}
          </span>
        ))}
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${title}: ${latest}`} />
    </figure>
  );
}

function spoken(column: readonly (number | null)[] | undefined, format: (value: number) => string): string {
  const value = column?.findLast((each) => each !== null);
  return value === undefined || value === null ? "none yet" : format(value);
}

const sizeOf = (element: HTMLElement) => ({ width: Math.max(120, element.clientWidth), height: 130 });

function optionsFor(element: HTMLElement, lines: readonly Line[], format: (value: number) => string): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    ...sizeOf(element),
    cursor: { show: false },
    legend: { show: false },
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, size: 26, values: (_plot, seconds) => seconds.map((at) => timeOfDay(at * 1000)) },
      { ...axis, size: 70, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        stroke: colour(line.colour),
        fill: `color-mix(in srgb, ${colour(line.colour)} 12%, transparent)`,
        width: 1.5,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}
