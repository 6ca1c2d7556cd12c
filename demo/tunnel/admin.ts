import { get as httpGet } from "node:http";
import type { AgentPeer, Page, TunnelRow } from "../../src/insight/observe/admin/contract.js";
import { waitUntil, within } from "../../test/support/processes/deadline.js";

export interface TunnelState {
  readonly agentId: string;
  readonly connectId: string;
  readonly bytesToClient: number;
}

/** The proxy-server's admin API: who is connected, and which agent carries which tunnel. */
export class Admin {
  readonly #port: number;
  readonly #token: string;

  constructor(port: number, token: string) {
    this.#port = port;
    this.#token = token;
  }

  agents(): Promise<readonly AgentPeer[]> {
    return this.#list("agents");
  }

  async tunnels(): Promise<TunnelState[]> {
    const rows = await this.#list<TunnelRow>("tunnels?limit=1000");
    // Without a number it is only being dialled.
    return rows.flatMap(({ agent, connectId, bytesFromTarget }) => {
      return connectId === undefined ? [] : [{ agentId: agent?.id ?? "", connectId, bytesToClient: bytesFromTarget }];
    });
  }

  /** Opens a tunnel and says which agent carries it: the one tunnel that was not there before. */
  async carrierOf<T>(open: () => Promise<T>): Promise<{ opened: T; agentId: string; connectId: string }> {
    const before = new Set((await this.tunnels()).map(key));
    const opened = await open();
    const isNew = (tunnel: TunnelState) => !before.has(key(tunnel));
    const found = await waitUntil("the new tunnel in the admin API", async () => (await this.tunnels()).find(isNew));
    return { opened, agentId: found.agentId, connectId: found.connectId };
  }

  /** How much of a tunnel its caller has been handed so far. */
  async bytesToClient(wanted: Pick<TunnelState, "agentId" | "connectId">): Promise<number> {
    const found = (await this.tunnels()).find((tunnel) => key(tunnel) === key(wanted));
    if (found === undefined) throw new Error(`the tunnel ${key(wanted)} is gone`);
    return found.bytesToClient;
  }

  #list<T>(resource: string): Promise<readonly T[]> {
    const asked = new Promise<readonly T[]>((resolve, reject) => {
      const headers = { authorization: `Bearer ${this.#token}` };
      const path = `/drawbridge/v1/${resource}`;
      httpGet({ host: "127.0.0.1", port: this.#port, path, headers, agent: false }, (response) => {
        response
          .toArray()
          .then((chunks) => {
            const text = Buffer.concat(chunks).toString("utf8");
            if (response.statusCode === 200) resolve((JSON.parse(text) as Page<T>).items);
            else reject(new Error(`the admin API answered ${response.statusCode}: ${text.trim()}`));
          })
          .catch(reject);
      }).once("error", reject);
    });
    return within(5_000, `the admin API's ${resource}`, asked);
  }
}

const key = ({ agentId, connectId }: Pick<TunnelState, "agentId" | "connectId">): string => `${agentId}/${connectId}`;
