/** A router for tests: made from what differs from the defaults, closed at the test's end; it records every connection. */
import type { Duplex } from "node:stream";
import { afterEach } from "vitest";
import { readExactly } from "../../../../../test/support/callers/bytes.js";
import { Scope } from "../../../../../test/support/processes/scope.js";
import { DEFAULT_ROUTING, type RoutingConfig } from "../../config.js";
import { type Router, type RouterParts, TunnelRouter } from "../router.js";

export const NEVER = new AbortController().signal;

export interface TestRouter extends Router {
  /** `route host:port` of every connection made. */
  readonly routes: string[];
  /** Opens, says hello, and returns what comes back. */
  echo(host: string, port: number): Promise<string>;
}

export function useRouters(): Scope & { router(config: Partial<RoutingConfig>, parts: RouterParts): TestRouter } {
  const scope = new Scope();
  afterEach(() => scope.close());
  return Object.assign(scope, {
    router(config: Partial<RoutingConfig>, parts: RouterParts): TestRouter {
      const routes: string[] = [];
      const router = scope.use(
        new TunnelRouter(
          { ...DEFAULT_ROUTING, ...config },
          { onRoute: (route, { host, port }) => void routes.push(`${route} ${host}:${port}`), ...parts },
        ),
      );
      return Object.assign(router, {
        routes,
        echo: async (host: string, port: number) => await hello(await router.open({ host, port }, NEVER)),
      });
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
