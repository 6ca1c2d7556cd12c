/**
 * The process itself, under the names that Go's collectors and Node's customary ones share. Everything is read at scrape
 * time: an event-loop monitor would wake an idle process a hundred times a second.
 */
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { Subscriptions } from "../channel.js";
import { type Connections, processConnections, processDescriptors } from "../connections.js";
import { MetricsRegistry, type Sample } from "./registry.js";

export function processMetrics(registry: MetricsRegistry): void {
  const gauge = (name: string, help: string, read: () => number) => registry.gauge(name, help, () => orNotKnown(read));

  registry.counterRead("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
  gauge(
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    () => performance.timeOrigin / 1000,
  );
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", () => process.memoryUsage.rss());
  if (process.platform === "linux") {
    gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", () => {
      const kilobytes = /^VmSize:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
      return Number(kilobytes) * 1024;
    });
    gauge("process_open_fds", "Number of open file descriptors.", () => processDescriptors.count() ?? Number.NaN);
    gauge("process_max_fds", "Maximum number of open file descriptors.", () => processDescriptors.limit);
  }

  connectionMetrics(registry);

  gauge(
    "nodejs_heap_size_total_bytes",
    "Heap reserved from the system in bytes.",
    () => process.memoryUsage().heapTotal,
  );
  gauge("nodejs_heap_size_used_bytes", "Heap in use in bytes.", () => process.memoryUsage().heapUsed);
  gauge(
    "nodejs_external_memory_bytes",
    "Memory outside the heap that objects on it hold, in bytes.",
    () => process.memoryUsage().external,
  );
  gauge(
    "nodejs_eventloop_utilization",
    "Share of time since start in which the event loop had work to do.",
    () => performance.eventLoopUtilization().utilization,
  );
  registry.gauge("nodejs_version_info", "Version of the Node.js runtime.", () => [[{ version: process.version }, 1]]);
}

/** A hidden /proc must not cost the whole scrape. */
function orNotKnown(read: () => number): number {
  try {
    return read();
  } catch {
    return Number.NaN;
  }
}

/** The connections that the process's listeners hold, in every role. */
export function connectionMetrics(registry: MetricsRegistry, connections: Connections = processConnections): void {
  registry.gauge("drawbridge_connections_open", "Connections that a listener accepted and that are open.", () =>
    connections.readings().map(({ name, open }): Sample => [{ listener: name }, open]),
  );
  registry.gauge(
    "drawbridge_connections_pending",
    "Open connections whose peer is not known yet, or has not asked for anything.",
    () => connections.readings().map(({ name, pending }): Sample => [{ listener: name }, pending]),
  );
  registry.counterRead(
    "drawbridge_connections_closed_total",
    "Connections that were closed because their peer was late, or because there were too many.",
    function* (): Iterable<Sample> {
      for (const { name, closed } of connections.readings()) {
        for (const [reason, count] of Object.entries(closed)) yield [{ listener: name, reason }, count];
      }
    },
  );
}

/** The metrics of one server, agent or sidecar, with the subscriptions that count its events. */
export class EventMetrics extends Subscriptions {
  readonly registry = new MetricsRegistry();

  constructor(source: object) {
    super(source);
    processMetrics(this.registry);
  }
}
