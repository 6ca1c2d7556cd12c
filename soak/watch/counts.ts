import type { Fixture } from "../fixture/fixture.js";
import type { Hub } from "../load/hub.js";
import type { LongTunnels } from "../load/long-tunnels.js";

const SERVER = "konnectivity_network_proxy_server_";
const AGENT = "konnectivity_network_proxy_agent_";

/** What the processes say they hold, beside what is really open. */
export interface Counts {
  /** Tunnels of each process, servers first. */
  readonly tunnels: readonly number[];
  /** One sentence for each figure that differs. */
  readonly mismatches: readonly string[];
}

/** `longTunnels` is all that may be open. */
export async function countTunnels(
  fixture: Pick<Fixture, "servers" | "agents">,
  hub: Hub,
  longTunnels: Pick<LongTunnels, "size" | "count">,
): Promise<Counts> {
  const mismatches: string[] = [];
  const compare = (what: string, got: number, really: number) => {
    if (got !== really) mismatches.push(`${what} is ${got}, ${really} are really there`);
  };
  const tunnels: number[] = [];
  for (const server of fixture.servers) {
    const { index, daemon } = server;
    const samples = await server.samples();
    const read = (name: string) => samples.get(SERVER + name) ?? Number.NaN;
    const [http, grpc] = [longTunnels.count(index, ["connect"]), longTunnels.count(index, ["grpc", "grpc-go"])];
    compare(`established_connections of ${daemon.name}`, read("established_connections"), http + grpc);
    compare(`pending_backend_dials of ${daemon.name}`, read("pending_backend_dials"), 0);
    compare(`http_connections of ${daemon.name}`, read("http_connections"), http);
    compare(`grpc_connections (Proxy) of ${daemon.name}`, read('grpc_connections{service_method="Proxy"}'), grpc);
    tunnels.push(read("established_connections"));
  }
  let atEndpoints = 0;
  for (const agent of fixture.agents) {
    const open = (await agent.samples()).get(`${AGENT}open_endpoint_connections`) ?? Number.NaN;
    atEndpoints += open;
    tunnels.push(open);
  }
  compare("open_endpoint_connections of all agents", atEndpoints, longTunnels.size);
  compare("connections at the endpoints", hub.open, longTunnels.size);
  return { tunnels, mismatches };
}
