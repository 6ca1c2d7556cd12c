import { connect, createServer } from "node:net";

/**
 * Upstream accepts listening ports from 1024 to 49151 only. Below 32768 the kernel does not hand ports out to outgoing
 * connections, so what was free a moment ago stays free.
 */
const LOWEST = 12_000;
const HIGHEST = 32_000;

/**
 * Test files that run side by side have ports of their own: a server that is stopped for a while must find its port free
 * when it comes back.
 */
const LANES = 4;
const LANE = (HIGHEST - LOWEST) / LANES;
const first = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 1) % LANES) * LANE;
const given = new Set<number>();

/** Ports that nobody listens on, different from all given out before by this process. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let tries = 0; ports.length < count; tries++) {
    if (tries > 1000) throw new Error(`no ${count} free ports between ${first} and ${first + LANE}`);
    const port = first + Math.floor(Math.random() * LANE);
    if (given.has(port) || !(await canListen(port))) continue;
    given.add(port);
    ports.push(port);
  }
  return ports;
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** The wildcard address, because that is what the servers bind by default. */
function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, () => probe.close(() => resolve(true)));
  });
}

export function portOpen(port: number, host = "127.0.0.1"): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
