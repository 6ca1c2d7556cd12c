import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../test/support/processes/process.js";
import { Scope } from "../../test/support/processes/scope.js";
import { holdTunnels } from "../load/drive.js";
import type { Audience, Contender } from "./contender.js";
import type { Ground } from "./ground.js";
import { startPair } from "./pair.js";

const IDLE_TUNNELS = 1000;
const TOKEN = "only-for-this-measurement";

/**
 * Server and agent with idle tunnels. Watched: curl reads the event stream that the live page lives on. What a browser
 * does with it happens on another machine, as a rule, and is no cost of the server.
 */
export async function startBeforeAudience(name: Audience, ground: Ground): Promise<Contender> {
  const scope = new Scope();
  try {
    const tokenFile = join(scope.tempDir(), "token");
    writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
    const flags = [name === "dark" ? "--flight-recorder=false" : `--admin-token-file=${tokenFile}`];
    const pair = scope.use(await startPair({ name: "ours/ours", frontend: "connect-uds" }, ground, flags, flags));
    const held = await holdTunnels(pair.route, IDLE_TUNNELS);
    scope.defer(async () => void (await held.release()));
    if (name === "watched") await watch(scope, pair.place.adminPort);
    return { ...pair, name, close: () => scope.close() };
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

async function watch(scope: Scope, adminPort: number): Promise<void> {
  const header = join(scope.tempDir(), "header");
  writeFileSync(header, `Authorization: Bearer ${TOKEN}`, { mode: 0o600 });
  const events = `http://127.0.0.1:${adminPort}/drawbridge/v1/events`;
  const args = ["-sfN", "-H", `@${header}`, "-D", "-", "-o", "/dev/null", events];
  const reader = scope.use(startProcess({ name: "reader of events", command: "curl", args }));
  await reader.log.waitFor(/ 200 /, 10_000);
}
