/** Milliseconds, rounded to hundredths. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** One after the other, each on its own time. */
export async function measure(ping: () => Promise<unknown>, count: number): Promise<Latency> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    await ping();
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  const at = (part: number) => Math.round(times[Math.ceil(part * count) - 1]! * 100) / 100;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

export function describeLatency({ p50, p99, max }: Latency): string {
  return `median ${p50} ms, p99 ${p99} ms, longest ${max} ms`;
}
