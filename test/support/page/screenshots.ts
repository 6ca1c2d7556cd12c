/**
 * `screenshots.ts FOLDER [MINUTES]`: retakes the pictures of the live page. Everything on them happened: real servers and
 * agents, one behind a slow link, one killed, one with an expired certificate, and ten minutes of traffic.
 */
import { setMaxListeners } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import agentCommand from "../../../src/cli/tunnel/agent.js";
import { ProxyAgent } from "../../../src/tunnel/agent/agent.js";
import { type AgentProcess, startAgent } from "../processes/agent.js";
import { endedCaller, makePki, type TestPki } from "../processes/certs.js";
import { Scope } from "../processes/scope.js";
import { choosePlace, connectFrontend, type ServerPlace, startServer } from "../processes/server.js";
import { startSlowRelay } from "../targets/slow-relay.js";
import { startBrowser, watchedPage } from "./browser.js";
import { withPalette } from "./palette.js";
import { liveThrough } from "./traffic.js";
import { logIn } from "./visit.js";

const TOKEN = "only-for-pictures-0123456789";
const ONE_WAY_MS = 165;
const CROWD = 200;

const [folder = "docs/images", minutes = "10.5"] = process.argv.slice(2);
const lengthMs = Number(minutes) * 60_000;

const scope = new Scope();
const ended = new AbortController();
setMaxListeners(0, ended.signal);
try {
  const dir = scope.tempDir();
  const tokenFile = join(dir, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const few = await serverOf(tokenFile, "cp-1");
  const many = await serverOf(tokenFile, "cp-2");
  const days = [startFew(few), startCrowd(many)];
  const browser = await startBrowser();
  scope.defer(() => browser.close());
  // The browser is here before: its start would make everything slow for a moment.
  await sleep(lengthMs);
  await takeFew(browser, few.place);
  await take(browser, many.place, "page-crowd", { width: 1280, colorScheme: "light" });
  ended.abort();
  await Promise.all(days);
} finally {
  await scope.close();
}

interface Running {
  readonly place: ServerPlace;
  readonly pki: TestPki;
}

/** On a host of this name, as far as the process can see. */
async function serverOf(tokenFile: string, host: string): Promise<Running> {
  const dir = scope.tempDir();
  const pki = makePki(dir);
  const place = await choosePlace("connect-uds", dir);
  const through = ["unshare", "--uts", "sh", "-c", `hostname ${host} && exec "$@"`, "sh"];
  const flags = [`--admin-token-file=${tokenFile}`, `--server-id=server-${host.at(-1)}`];
  scope.use((await startServer({ origin: "ours", place, pki, flags, through })).process);
  process.stderr.write(`${host}: http://127.0.0.1:${place.adminPort}/ for ${minutes} min\n`);
  return { place, pki };
}

async function startFew({ place, pki }: Running): Promise<void> {
  const relay = await startSlowRelay(place.agentPort, ONE_WAY_MS);
  scope.defer(() => relay.close());
  const start = async (id: string, serverPort = place.agentPort, files = pki): Promise<AgentProcess> => {
    const flags = ["--sync-interval=5s", "--sync-interval-cap=30s", "--probe-interval=1s"];
    const agent = await startAgent({ origin: "ours", serverPort, pki: files, id, flags });
    scope.use(agent.process);
    return agent;
  };
  await start("node-0");
  await start("node-1", relay.port);
  await start("node-2");
  const killed = await start("node-3");
  setTimeout(() => void killed.process.kill(), lengthMs * 0.75);
  const agent = endedCaller({ ...pki, caller: pki.agent });
  setTimeout(() => void start("node-4", place.agentPort, { ...pki, agent }), lengthMs * 0.9);
  const day = { network: "127.0.10", targets: 6, streams: 8, askEveryMs: 800, signal: ended.signal };
  await liveThrough(connectFrontend(place, pki), day);
}

/** So many agents in one process, through the library. */
async function startCrowd({ place, pki }: Running): Promise<void> {
  const relay = await startSlowRelay(place.agentPort, ONE_WAY_MS);
  scope.defer(() => relay.close());
  const parsed = agentCommand.parse(
    [
      "--proxy-server-host=127.0.0.1",
      `--agent-cert=${pki.agent.cert}`,
      `--agent-key=${pki.agent.key}`,
      `--ca-cert=${pki.agent.ca}`,
    ],
    process.env,
    "proxy-agent",
  );
  if (parsed.help !== undefined) throw new Error("--help has no place here");
  const { config } = parsed.config;
  const agents = Array.from({ length: CROWD }, (_, n) => {
    const port = n === 77 ? relay.port : place.agentPort;
    return new ProxyAgent({
      ...config,
      servers: [{ host: "127.0.0.1", port }],
      agentId: `gke-${n}.eu-1.compute.internal`,
    });
  });
  for (const agent of agents) agent.start();
  while (!agents.every((agent) => agent.ready)) await sleep(100);
  scope.defer(async () => {
    await Promise.all(agents.map((agent) => agent.stop()));
  });
  const day = {
    network: "127.0.11",
    targets: 40,
    streams: 60,
    askEveryMs: 100,
    signal: ended.signal,
  };
  await liveThrough(connectFrontend(place, pki), day);
}

async function takeFew(browser: Browser, place: ServerPlace): Promise<void> {
  await take(browser, place, "page-light-1280", { width: 1280, colorScheme: "light" });
  await take(browser, place, "page-dark-390", { width: 390, colorScheme: "dark" });
  const chooseOne = async (page: Page) => {
    await page.focus("[role=grid]");
    await page.keyboard.press("ArrowDown");
    await page.waitForSelector(".waterfall");
    return page.locator(".tunnels");
  };
  await take(browser, place, "page-tunnel", { width: 1280, colorScheme: "light" }, chooseOne);
}

interface Look {
  readonly width: number;
  readonly colorScheme: "light" | "dark";
}

async function take(
  browser: Browser,
  { adminPort }: ServerPlace,
  name: string,
  { width, colorScheme }: Look,
  prepare: (page: Page) => Promise<Pick<Page, "screenshot">> = async (page) => page,
): Promise<void> {
  const { page } = await watchedPage(browser, { viewport: { width, height: 900 }, colorScheme });
  await logIn(page, `http://127.0.0.1:${adminPort}/`, TOKEN);
  await page.waitForSelector(".health:not(.unknown)");
  await page.waitForSelector(".node.target.bad");
  await page.waitForSelector('.tile:first-child .value:not(:text-is("–"))');
  const part = await prepare(page);
  writeFileSync(join(folder, `${name}.png`), withPalette(await part.screenshot()));
  await page.context().close();
}
