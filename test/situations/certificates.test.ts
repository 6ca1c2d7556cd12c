/** Certificates that end, and peers that come without the right one. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import {
  agentServerConnectFailed,
  agentServerDisconnected,
  note,
  serverAgentRejected,
} from "../../src/observe/channels.js";
import { waitUntil } from "../support/processes/deadline.js";
import { type House, type HousePlan, openHouse } from "./house/house.js";
import { makeHousePki } from "./house/pki.js";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function open(plan: HousePlan = {}): Promise<House> {
  const house = await openHouse({ agents: 0, ...plan });
  endings.push(() => house.close());
  return house;
}

function texts<Event extends object>(
  channel: { subscribe(listener: (event: Event) => void): () => void },
  text: (event: Event) => string,
): string[] {
  const heard: string[] = [];
  endings.push(channel.subscribe((event) => heard.push(text(event))));
  return heard;
}

/** Enough to connect with on a busy machine; a certificate's end is cut to whole seconds. */
const LIFE_MS = 6_000;
vi.setConfig({ testTimeout: 60_000 });

test("a time-boxed agent ends its streams with its certificate, rests, and goes on with a new one", async () => {
  const house = await open();
  const notes = texts(note, ({ message }) => message);
  const files = await house.pki.issueClient("brief", LIFE_MS);
  const agent = await house.addAgent({ timeBoxed: true, tls: { caFile: house.pki.caFile, ...files, alpn: [] } });
  await waitUntil("the stream to end", () => house.server.board.registry.size === 0);
  await waitUntil("the agent to rest", () => agent.unreadyReason !== undefined);
  expect(agent.ready).toBe(false);
  expect(agent.unreadyReason).toMatch(/^this agent's certificate ended at \S+; it rests until \S+ holds a new one$/);
  expect(notes.filter((text) => text.includes("it rests"))).toHaveLength(1);
  await house.pki.issueClient("brief", 60_000);
  await waitUntil("the agent to be back", () => agent.ready);
  expect(agent.unreadyReason).toBeUndefined();
});

test("a time-boxed server ends the stream of an agent that would stay, and says why", async () => {
  const house = await open({ timeBoxed: true });
  const reasons = texts(agentServerDisconnected, ({ reason }) => reason);
  const files = await house.pki.issueClient("brief", LIFE_MS);
  await house.addAgent({ tls: { caFile: house.pki.caFile, ...files, alpn: [] } });
  await waitUntil("the stream to end", () => reasons.length > 0);
  expect(reasons[0]).toContain("the agent's certificate has ended");
});

test.each([
  ["no certificate", () => ({ certFile: "", keyFile: "" }), /certificate required/, /it showed no certificate/],
  [
    "a stranger's certificate",
    async (house: House) => (await makeHousePki(mkdtempSync(join(house.dir, "other-")))).client,
    /hung up without a word, as it does when it does not trust the agent's certificate/,
    /its certificate is not trusted/,
  ],
] as const)("with %s both sides say what is wrong", async (_what, filesFor, agentSays, serverSays) => {
  const house = await open();
  const heardByAgent = texts(agentServerConnectFailed, ({ error }) => error);
  const heardByServer = texts(serverAgentRejected, ({ error }) => error);
  house.launchAgent({ tls: { caFile: house.pki.caFile, ...(await filesFor(house)), alpn: [] } });
  await waitUntil("both to complain", () => heardByAgent.length > 0 && heardByServer.length > 0);
  expect(heardByAgent[0]).toMatch(agentSays);
  expect(heardByServer[0]).toMatch(serverSays);
});
