/** Dials that wait for an agent, as the admin API shows them. */
import { afterEach, expect, test } from "vitest";
import { connectCaller } from "../../../../test/processes/fixture/connect.js";
import { type Fixture, openFixture } from "../../../../test/processes/fixture/fixture.js";
import { waitUntil } from "../../../../test/support/processes/deadline.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { FakeCaller } from "../../../tunnel/server/testing/fakes.js";
import { GIVE_UP_MS, MAX_WAITING } from "../../../tunnel/server/waiting-dials.js";
import { ObservedServer } from "./server.js";

let fixture: Fixture;
afterEach(() => fixture.close());

test("totals count them, tunnels list them, and explain says what a dial would do", async () => {
  const clock = new ManualClock();
  fixture = await openFixture({ agents: 0, server: { waitForAgentMs: 5_000 }, parts: { runtime: clock } });
  const subject = new ObservedServer(fixture.server);
  subject.remember();
  const why = () => subject.explain("10.0.0.1:443").why;
  const caller = await connectCaller(fixture);
  caller.write("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\n\r\n");
  await waitUntil("the dial to wait", () => subject.totals().dialsWaiting === 1);
  expect(subject.totals()).toMatchObject({ dialsPending: 1, dialsWaiting: 1 });
  expect([...subject.tunnels()].map((each) => each.describe())).toMatchObject([
    { target: "10.0.0.1:443", state: "dialing", marks: {} },
  ]);
  const reason = () => subject.process().unreadyReason;
  expect(reason()).toBe("no agent is connected");
  expect(why()).toBe("No agent is connected. A dial waits up to 5 s for one (--wait-for-agent); 1 waits now.");
  clock.advance(GIVE_UP_MS);
  expect(subject.totals()).toMatchObject({ dialsPending: 0, dialsWaiting: 0 });
  expect(why()).toBe(
    "No agent is connected. No agent has connected since 2031-01-01T00:00:00.000Z, so dials no longer wait until one connects (--wait-for-agent).",
  );
  expect(reason()).toBe(
    "no agent has connected since 2031-01-01T00:00:00.000Z, so dials no longer wait until one connects",
  );
  expect(subject.refusals.explained()).toMatchObject([
    { why: "No agent is connected. Waiting (--wait-for-agent): waited 5.0 s for one." },
  ]);
  caller.destroy();
});

test("explain says that a dial would not wait when as many wait as may", async () => {
  fixture = await openFixture({ agents: 0, server: { waitForAgentMs: 5_000 }, parts: { runtime: new ManualClock() } });
  for (let dials = 0; dials < MAX_WAITING; dials++) fixture.server.board.dial(new FakeCaller());
  expect(new ObservedServer(fixture.server).explain("10.0.0.1:443").why).toBe(
    "No agent is connected. 1024 dials wait for one already, so a further one is refused at once (--wait-for-agent).",
  );
});
