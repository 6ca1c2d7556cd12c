import { faultsOf, metered } from "./metered.js";
import { latencyValues } from "./requests.js";
import { metric, type Row, ratio } from "./row.js";

export const besideBulk: Row = {
  name: "beside-bulk",
  about: "One tunnel plays 1 KB ping-pong while another one downloads as fast as it can (its bytes compared as well).",
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go", "relay"],
  bars: [ratio("p99", "at most", 0.7, 0.5)],
  metrics: [
    metric("p50", "ping-pong p50", "µs"),
    metric("p99", "ping-pong p99", "µs"),
    metric("rate", "ping-pong", "req/s"),
    metric("bulk", "bulk beside it", "MB/s"),
  ],
  async measure(run) {
    const contender = await run.fixture.shared(run);
    const { result } = await metered(run, contender, "beside-bulk", { seconds: run.seconds });
    return {
      values: {
        ...latencyValues(result),
        rate: result.requestsPerSecond ?? 0,
        bulk: (result.bytesPerSecond ?? 0) / 1e6,
      },
      faults: faultsOf(result),
    };
  },
};
