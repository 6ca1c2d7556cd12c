/**
 * The victim's process: endpoints behind the tunnel, and callers that send small requests to them at fixed times. A request
 * that had to wait for the one before it counts from when it should have been sent, so that a stall shows in every
 * request that it delayed.
 */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import type { Place } from "../raw/place.js";
import { answerParent } from "./answer.js";
import { byConnect, byFetch, byGrpc, bySocks5, type Tunnel } from "./calls.js";

export interface Endpoints {
  readonly echoPort: number;
  /** Accepts and does not read until somebody connects to the other one. */
  readonly stalledPort: number;
  readonly wakePort: number;
  /** Counts who reached it. */
  readonly forbiddenPort: number;
  /** An HTTP server; whoever gets through to `/smuggled` there, or to `/whole` without a body, has reached what is forbidden, too. */
  readonly originPort: number;
}

/** How a request is made, and to whom; for a fetch `address` is the token. */
export interface CallerPlan {
  readonly mode: keyof typeof modes;
  readonly place: Place;
  readonly address: string;
}

export interface Measured {
  readonly answered: number;
  readonly failures: readonly string[];
  /** Milliseconds, sorted. */
  readonly latencies: readonly number[];
}

const REQUEST = Buffer.alloc(64, "x");
const REQUEST_EVERY_MS = 10;
const TUNNEL_EVERY_MS = 40;

let forbidden = 0;
let round: Round | undefined;
const stalled = new Set<Socket>();

answerParent({
  endpoints: async (): Promise<Endpoints> => ({
    echoPort: await listen((socket) => socket.pipe(socket)),
    stalledPort: await listen((socket) => {
      stalled.add(socket.pause());
      socket.once("close", () => stalled.delete(socket));
    }),
    wakePort: await listen((socket) => {
      for (const each of stalled) each.resume();
      socket.destroy();
    }),
    forbiddenPort: await listen((socket) => {
      forbidden++;
      socket.destroy();
    }),
    originPort: await origin(),
  }),
  begin: async (plans: readonly CallerPlan[]) => {
    round = new Round();
    await Promise.all(plans.map((plan) => round!.start(plan)));
  },
  end: async (): Promise<Measured> => await round!.end(),
  /** One new tunnel, and an answer through it. */
  call: async (plan: CallerPlan) => {
    const tunnel = await open(plan);
    await tunnel.echo(REQUEST);
    tunnel.close();
  },
  /** How often since the last question. */
  forbidden: () => {
    const count = forbidden;
    forbidden = 0;
    return count;
  },
});

/** On every address of this host, so that a loopback address can stand for each network. */
function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => {});
    serve(socket);
  });
  return new Promise((resolve) => {
    server.listen({ port: 0, host: "::", backlog: 4096 }, () => resolve((server.address() as AddressInfo).port));
  });
}

function origin(): Promise<number> {
  const server = createHttpServer((request, response) => {
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    request.on("end", () => {
      if (request.url === "/smuggled" || (request.url === "/whole" && bytes === 0)) forbidden++;
      response.end("fine");
    });
  });
  return new Promise((resolve) => server.listen(0, "::", () => resolve((server.address() as AddressInfo).port)));
}

const modes = { connect: byConnect, grpc: byGrpc, socks5: bySocks5, fetch: byFetch };

const open = ({ mode, place, address }: CallerPlan): Promise<Tunnel> => modes[mode](place, address);

class Round {
  readonly #latencies: number[] = [];
  readonly #failures: string[] = [];
  readonly #loops: Promise<void>[] = [];
  #answered = 0;
  #over = false;

  /** The long tunnel is open when this resolves: the round begins with a victim at work. */
  async start(plan: CallerPlan): Promise<void> {
    let long: Tunnel | undefined = await open(plan);
    const overLongTunnel = async () => {
      try {
        long ??= await open(plan);
        await long.echo(REQUEST);
      } catch (reason) {
        long?.close();
        long = undefined;
        throw reason;
      }
    };
    const overNewTunnel = async () => {
      const tunnel = await open(plan);
      try {
        await tunnel.echo(REQUEST);
      } finally {
        tunnel.close();
      }
    };
    this.#loops.push(
      this.#repeat(`${plan.mode}, long tunnel`, REQUEST_EVERY_MS, overLongTunnel).then(() => long?.close()),
    );
    this.#loops.push(this.#repeat(`${plan.mode}, new tunnel`, TUNNEL_EVERY_MS, overNewTunnel));
  }

  async end(): Promise<Measured> {
    this.#over = true;
    await Promise.all(this.#loops);
    return { answered: this.#answered, failures: this.#failures, latencies: this.#latencies.sort((a, b) => a - b) };
  }

  async #repeat(what: string, everyMs: number, request: () => Promise<void>): Promise<void> {
    let due = performance.now();
    for (; !this.#over; due += everyMs) {
      const early = due - performance.now();
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
      try {
        await request();
        this.#answered++;
      } catch (reason) {
        if (this.#failures.length < 10) this.#failures.push(`${what}: ${(reason as Error).message}`);
        // Not a busy loop against a process that refuses at once.
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      this.#latencies.push(performance.now() - due);
    }
    // What a stall kept from being sent at all was delayed by it, too.
    for (const now = performance.now(); due < now; due += everyMs) this.#latencies.push(now - due);
  }
}
