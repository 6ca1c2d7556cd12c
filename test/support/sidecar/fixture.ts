/** A real tunnel with everything around it that a sidecar's way can meet: DNS, Services, and ears on what is said. */
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { openServiceAddresses } from "../../../src/cluster/kube/service-addresses.js";
import {
  DEFAULT_FALLBACK,
  DEFAULT_RESOLUTION,
  DEFAULT_WAY,
  type Resolver,
  type WayConfig,
} from "../../../src/tunnel/sidecar/way/config.js";
import { type OpenWay, openWay } from "../../../src/tunnel/sidecar/way/open-way.js";
import type { WayParts } from "../../../src/tunnel/sidecar/way/parts.js";
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

export async function setStage(zone: Zone, services: Readonly<Record<string, readonly string[]>>): Promise<Fixture> {
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

export interface StagedWay extends OpenWay {
  /** The way of every connection made. */
  readonly routes: string[];
  /** Opens, says hello, and returns what comes back. */
  echo(host: string, port?: number): Promise<string>;
  /** Turns the way's clock. */
  pass(ms: number): void;
}

export interface StagedWayOptions {
  readonly order?: readonly Resolver[];
  readonly preferIpv4?: boolean;
  readonly fallback?: boolean;
  readonly config?: Partial<WayConfig>;
  /** What this host's own DNS knows: the management cluster's. */
  readonly here?: Readonly<Record<string, string>>;
}

export function wayOn(fixture: Fixture, options: StagedWayOptions): StagedWay {
  const { order = ["agent"], preferIpv4 = false, fallback = false, here = {} } = options;
  let now = 0;
  const routes: string[] = [];
  const config: WayConfig = {
    ...DEFAULT_WAY,
    frontends: [{ mode: "http-connect", uds: fixture.recorder.path }],
    own: [],
    resolution: {
      ...DEFAULT_RESOLUTION,
      order,
      preferIpv4,
      kube: { ...DEFAULT_RESOLUTION.kube, kubeconfig: fixture.api.kubeconfig },
      cache: { ...DEFAULT_RESOLUTION.cache, maxMs: 0 },
    },
    fallback: { ...DEFAULT_FALLBACK, direct: fallback },
    ...options.config,
  };
  const parts: WayParts = {
    now: () => now,
    lookup: async (name) => {
      const address = here[name];
      if (address !== undefined) return [address];
      throw Object.assign(new Error(`no such host ${name}`), { code: "ENOTFOUND" });
    },
    openServices: openServiceAddresses,
    onRoute: (route) => void routes.push(route),
  };
  const way = fixture.use(openWay(config, parts));
  return {
    ...way,
    routes,
    echo: async (host, port = fixture.echo.port) => await hello(await way.open({ host, port }, NEVER)),
    pass(ms) {
      now += ms;
    },
  };
}

export async function hello(stream: Duplex): Promise<string> {
  stream.write("hello");
  const text = String(await readExactly(stream, 5));
  stream.destroy();
  return text;
}
