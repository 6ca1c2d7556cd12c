/** Numbers as people read them. Pure, so that the tests read like a table. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytesText(countText: number): string {
  let value = Math.max(0, countText);
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

/** Undefined: not known. */
export const rateText = (perSecond: number | undefined): string =>
  perSecond === undefined ? "–" : `${bytesText(perSecond)}/s`;

export const count = (value: number): string => Math.round(value).toLocaleString("en-US");

/** `0.4 ms`, `12 ms`, `3.2 s`, `4 min`, `2 h 5 min`, `3 d 4 h`. */
export function durationText(ms: number): string {
  const value = Math.max(0, ms);
  if (value < 1) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${Math.round(value)} ms`;
  if (value < 60_000) return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(value / 60_000);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** How long something still holds, and how urgent that is. */
export function countdown(untilAt: number, now: number): { text: string; urgency: "fine" | "soon" | "over" } {
  const left = untilAt - now;
  if (left <= 0) return { text: `expired ${durationText(-left)} ago`, urgency: "over" };
  return { text: `${durationText(left)} left`, urgency: left < 24 * 3_600_000 ? "soon" : "fine" };
}

/** The time of day, as the reader's clock has it. */
export const timeOfDay = (at: number): string => new Date(at).toLocaleTimeString("en-GB");

/** Of all these times: `UTC`, `CET`, `GMT+2`. */
export const zone = (): string =>
  new Intl.DateTimeFormat("en-GB", { timeZoneName: "short" })
    .formatToParts()
    .find(({ type }) => type === "timeZoneName")!.value;

/** In percent; what is little is not nothing. */
export function shareText(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (part / whole) * 100;
  if (percent > 0 && percent < 1) return "<1 %";
  return percent > 99 && percent < 100 ? "99 %" : `${Math.round(percent)} %`;
}
