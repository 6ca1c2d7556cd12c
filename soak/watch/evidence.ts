import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Fixture } from "../fixture/fixture.js";
import type { Watchdog } from "./watchdog.js";

/** What the processes and the soak know at the moment of a violation, beside their logs. */
export async function keepEvidence(
  dir: string,
  fixture: Pick<Fixture, "servers" | "agents">,
  watchdog: Watchdog,
): Promise<void> {
  const keep = async (name: string, text: () => string | Promise<string>) => {
    let content: string;
    try {
      content = await text();
    } catch (reason) {
      content = `not to be had: ${reason instanceof Error ? reason.message : String(reason)}`;
    }
    writeFileSync(join(dir, name), `${content}\n`);
  };
  const pretty = (value: unknown) => JSON.stringify(value, undefined, 1);
  await keep("waits.txt", () => watchdog.describe().join("\n"));
  for (const server of fixture.servers) {
    const { name } = server.daemon;
    await keep(`${name}-tunnels.json`, async () => pretty(await server.tunnels()));
    await keep(`${name}-agents.json`, async () => pretty(await server.agents()));
    await keep(`${name}-metrics.txt`, async () => pretty([...(await server.samples())]));
  }
  for (const agent of fixture.agents) {
    await keep(`${agent.daemon.name}-tunnels.json`, async () => pretty(JSON.parse(await agent.tunnels())));
    await keep(`${agent.daemon.name}-metrics.txt`, async () => pretty([...(await agent.samples())]));
  }
}
