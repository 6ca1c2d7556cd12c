/** A way as tests use it: made from what differs, closed at the test's end, with a note of every connection. */
import type { Duplex } from "node:stream";
import { afterEach } from "vitest";
import { readExactly } from "../../../../../test/support/callers/bytes.js";
import { Scope } from "../../../../../test/support/processes/scope.js";
import { DEFAULT_WAY, type WayConfig } from "../config.js";
import { type OpenWay, openWay } from "../open-way.js";
import type { WayParts } from "../parts.js";

export const NEVER = new AbortController().signal;

export interface TestWay extends OpenWay {
  /** `route host:port` of every connection made. */
  readonly routes: string[];
  /** Opens, says hello, and returns what comes back. */
  echo(host: string, port: number): Promise<string>;
}

export function useWays(): Scope & { way(config: Partial<WayConfig>, parts: WayParts): TestWay } {
  const scope = new Scope();
  afterEach(() => scope.close());
  return Object.assign(scope, {
    way(config: Partial<WayConfig>, parts: WayParts): TestWay {
      const routes: string[] = [];
      const way = scope.use(
        openWay(
          { ...DEFAULT_WAY, frontends: [], own: [], ...config },
          { onRoute: (route, { host, port }) => void routes.push(`${route} ${host}:${port}`), ...parts },
        ),
      );
      return { ...way, routes, echo: async (host, port) => await hello(await way.open({ host, port }, NEVER)) };
    },
  });
}

export async function hello(stream: Duplex): Promise<string> {
  stream.write("hello");
  const text = String(await readExactly(stream, 5));
  stream.destroy();
  return text;
}

export async function nothingHere(): Promise<never> {
  throw Object.assign(new Error("no such host"), { code: "ENOTFOUND" });
}
