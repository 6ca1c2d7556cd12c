/** A control plane without nodes, as its callers see it: they wait for an agent at first, and are refused at once later. */
import { afterEach, expect, test } from "vitest";
import { connectCaller } from "../../../test/processes/fixture/connect.js";
import { type Fixture, openFixture } from "../../../test/processes/fixture/fixture.js";
import { rawCaller } from "../../../test/processes/fixture/grpc.js";
import { readToEnd } from "../../../test/support/callers/bytes.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { GIVE_UP_MS } from "./waiting-dials.js";

const WAIT_MS = 5_000;

let clock: ManualClock;
let fixture: Fixture;
afterEach(() => fixture.close());

async function open(): Promise<void> {
  clock = new ManualClock();
  fixture = await openFixture({ agents: 0, server: { waitForAgentMs: WAIT_MS }, parts: { runtime: clock } });
}

const isWaiting = () => waitUntil("the dial to wait", () => fixture.server.board.waiting.size === 1);

/** Each asks, and resolves to the refusal once it comes. */
const ASK = {
  "http-connect": async () => {
    const caller = await connectCaller(fixture);
    caller.write("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    return String((await readToEnd(caller)).bytes);
  },
  grpc: async () => {
    const caller = rawCaller(fixture);
    caller.send({ type: "DIAL_REQ", protocol: "tcp", address: "10.0.0.1:443", random: 7n });
    const answer = await waitUntil("the answer", () => caller.packets.find(({ type }) => type === "DIAL_RSP"));
    caller.close();
    return (answer as { error: string }).error;
  },
};

test.each(Object.entries(ASK))(
  "over %s, dials wait for half a minute in all, and then are refused at once until an agent has connected",
  async (_name, ask) => {
    await open();
    for (let ms = 0; ms < GIVE_UP_MS; ms += WAIT_MS) {
      const refused = ask();
      await isWaiting();
      clock.advance(WAIT_MS);
      expect(await refused).toContain("waited 5.0 s for one");
    }
    const began = clock.now();
    const since = "no agent has connected since 2031-01-01T00:00:00.000Z, so dials no longer wait until one connects";
    for (let dials = 0; dials < 10; dials++) expect(await ask()).toContain(since);
    expect(clock.now()).toBe(began);
    const agent = await fixture.addAgent();
    await agent.stop();
    await waitUntil("the agent to be gone", () => fixture.server.board.registry.size === 0);
    const refused = ask();
    await isWaiting();
    clock.advance(WAIT_MS);
    expect(await refused).toContain("waited 5.0 s for one");
  },
);
