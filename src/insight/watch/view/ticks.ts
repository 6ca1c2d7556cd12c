/** Where the lines of an axis are: at round values, each of which reads differently. */

/** The smallest steps that the texts tell apart. */
const LEAST = { bytes: 512, count: 1, ms: 0.5 };
const MINUTE_MS = 60_000;

/** Bytes double, everything else goes by 1, 2 and 5; long times in minutes. */
export function ticks(high: number, kind: keyof typeof LEAST): number[] {
  const unit = kind === "ms" && high > MINUTE_MS ? MINUTE_MS : 1;
  const wished = kind === "bytes" ? powerOfTwo(high / 2) : round(high / 2 / unit) * unit;
  const step = Math.max(LEAST[kind], unit === 1 ? 0 : unit, wished);
  const count = Math.max(1, Math.ceil(high / step));
  return Array.from({ length: count + 1 }, (_, at) => at * step);
}

const powerOfTwo = (value: number): number => 2 ** Math.floor(Math.log2(Math.max(1, value)));

function round(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(Math.max(value, Number.MIN_VALUE)));
  const times = value / unit;
  return (times < 2 ? 1 : times < 5 ? 2 : 5) * unit;
}

/** The full minutes within the last seconds, as far apart as asked. */
export function minuteTicks(nowSeconds: number, lastSeconds: number, apart: number): number[] {
  const first = Math.ceil((nowSeconds - lastSeconds) / apart) * apart;
  const found: number[] = [];
  for (let at = first; at <= nowSeconds; at += apart) found.push(at);
  return found;
}
