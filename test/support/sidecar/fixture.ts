/** A real tunnel with everything around it that a sidecar's way can meet: DNS, Services, and ears on what is said. */
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { openServiceAddresses } from "../../../src/cluster/kube/service-addresses.js";
import { DEFAULT_ROUTING, type ResolverName, type RoutingConfig } from "../../../src/tunnel/sidecar/config.js";
import type { RouterParts } from "../../../src/tunnel/sidecar/routing/router.js";
import { type Router, TunnelRouter } from "../../../src/tunnel/sidecar/routing/router.js";
import { readExactly } from "../callers/bytes.js";
import type { Origin } from "../processes/executables.js";
import { Scope } from "../processes/scope.js";
import { startTunnel, type Tunnel } from "../processes/tunnel.js";
import { startEcho } from "../targets/echo.js";
import type { Target } from "../targets/listener.js";
import { type DnsResponder, startDnsResponder, type Zone } from "./dns-responder.js";
import { type Recorder, startRecorder } from "./recorder.js";
import { type ServiceApi, startServiceApi } from "./service-api.js";

export const NEVER = new AbortController().signal;

export interface Fixture extends Scope {
  readonly tunnel: Tunnel;
  /** Hears every CONNECT request that goes into the tunnel. */
  readonly recorder: Recorder;
  readonly echo: Target;
  /** The hosted cluster's DNS, on port 53 of an address of its own. */
  readonly dns: DnsResponder;
  readonly api: ServiceApi;
}

/** An address of this host that nobody else uses: its port 53 is the cluster's DNS. */
export const DNS_HOST = "127.0.53.10";

export async function useFixture(zone: Zone, services: Readonly<Record<string, readonly string[]>>): Promise<Fixture> {
  const scope = new Scope();
  try {
    const dir = scope.tempDir();
    const tunnel = scope.use(await startTunnel({ server: "ours", agent: "ours", frontend: "connect-uds" }));
    return Object.assign(scope, {
      tunnel,
      recorder: scope.use(await startRecorder(join(dir, "recorder.sock"), tunnel.place.udsPath)),
      echo: scope.use(await startEcho()),
      dns: scope.use(await startDnsResponder(zone, { host: DNS_HOST, port: 53 })),
      api: scope.use(
        await startServiceApi(join(dir, "kubeconfig"), { "dns-default.openshift-dns": [DNS_HOST], ...services }),
      ),
    });
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

/** A second tunnel, for what depends on who wrote the server. */
export async function startRecorded(
  scope: Scope,
  server: Origin,
): Promise<{ readonly tunnel: Tunnel; readonly recorder: Recorder }> {
  const tunnel = scope.use(await startTunnel({ server, agent: server, frontend: "connect-uds" }));
  const recorder = scope.use(await startRecorder(join(scope.tempDir(), "recorder.sock"), tunnel.place.udsPath));
  return { tunnel, recorder };
}

export interface FixtureRouter extends Router {
  /** The route of every connection made. */
  readonly routes: string[];
  /** Opens, says hello, and returns what comes back. */
  echo(host: string, port?: number): Promise<string>;
  /** Advances the router's clock. */
  pass(ms: number): void;
}

export interface FixtureRouterOptions {
  readonly order?: readonly ResolverName[];
  readonly preferIpv4?: boolean;
  readonly fallback?: boolean;
  readonly config?: Partial<RoutingConfig>;
  /** What this host's own DNS knows: the management cluster's. */
  readonly local?: Readonly<Record<string, string>>;
}

export function routerOn(fixture: Fixture, options: FixtureRouterOptions): FixtureRouter {
  const { order = ["agent"], preferIpv4 = false, fallback = false, local = {} } = options;
  let now = 0;
  const routes: string[] = [];
  const config: RoutingConfig = {
    ...DEFAULT_ROUTING,
    frontends: [{ mode: "http-connect", uds: fixture.recorder.path }],
    resolve: order,
    preferIpv4,
    kubeconfig: fixture.api.kubeconfig,
    fallbackDirect: fallback,
    ...options.config,
  };
  const parts: RouterParts = {
    now: () => now,
    maxCacheMs: 0,
    lookup: async (name) => {
      const address = local[name];
      if (address !== undefined) return [address];
      throw Object.assign(new Error(`no such host ${name}`), { code: "ENOTFOUND" });
    },
    openServices: openServiceAddresses,
    onRoute: (route) => void routes.push(route),
  };
  const router = fixture.use(new TunnelRouter(config, parts));
  return Object.assign(router, {
    routes,
    echo: async (host: string, port = fixture.echo.port) => await hello(await router.open({ host, port }, NEVER)),
    pass(ms: number) {
      now += ms;
    },
  });
}

export async function hello(stream: Duplex): Promise<string> {
  stream.write("hello");
  const text = String(await readExactly(stream, 5));
  stream.destroy();
  return text;
}
