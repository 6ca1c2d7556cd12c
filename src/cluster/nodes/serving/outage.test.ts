/** A token's life while the API is away for one write, or the clocks of two replicas differ: machines are served on. */
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { InterruptedApi, type Interruption } from "../testing/interrupted-api.js";
import { EXPIRE_AFTER_MS, ROTATE_AFTER_MS, readTokenSecret, withExpiry } from "../token/token-secret.js";
import { collection, path, TokenFixture } from "./testing/fixture.js";

let fixture: TokenFixture;

afterEach(() => fixture.close());

const minute = 60_000;

test.each<[number, string, Interruption]>([
  [1, "the outcome of the payload", "refused"],
  [1, "the outcome of the payload", "lost"],
  [2, "the first rotation", "refused"],
  [2, "the first rotation", "lost"],
  [3, "the second rotation", "refused"],
  [3, "the second rotation", "lost"],
  [4, "the deletion", "refused"],
  [4, "the deletion", "lost"],
])("write %i, %s, is %s", async (at, _what, how) => {
  fixture = await TokenFixture.open();
  const interrupted = new InterruptedApi(fixture.api, at, how);
  const one = fixture.replica("a", { api: interrupted.api });
  await fixture.see(one);
  await eventually(() => expect(one.knows("token-0")).toEqual([true]));

  /** The tokens of the Secret are good all the time, and after a few minutes nothing else is. */
  const rotated = async (before: string) => {
    await fixture.pass(ROTATE_AFTER_MS, one);
    expect(one.knows(before)).toEqual([true]);
    for (let minutes = 0; minutes < 3; minutes++) await fixture.pass(minute, one);
    const { oldToken, token = "" } = readTokenSecret(await fixture.stored());
    expect([oldToken, one.knows(token, before)]).toEqual([before, [true, true]]);
    expect(one.tokens.size).toBe(2);
    return token;
  };
  const second = await rotated("token-0");
  expect(await fixture.outcome()).toMatchObject({ reason: "AsExpected" });
  await rotated(second);
  expect(one.knows("token-0")).toEqual([false]);

  await fixture.api.update(path, withExpiry(await fixture.stored(), fixture.clock.date())!);
  await fixture.see(one);
  await fixture.pass(EXPIRE_AFTER_MS - minute, one);
  expect(one.knows(second)).toEqual([true]);
  fixture.clock.advance(2 * minute);
  // Tried, and at rest again: what comes next is timed from there.
  await eventually(() => expect([interrupted.writes >= 4, fixture.clock.waiting.length]).toEqual([true, 1]));
  fixture.clock.advance(minute);
  await expect.poll(async () => (await fixture.api.list(collection)).items.length, { timeout: 10_000 }).toBe(0);
  await fixture.see(one);
  await eventually(() => expect(one.tokens.size).toBe(0));
  await eventually(() => expect(one.errors.length).toBeGreaterThan(0));
});

test.each([-60, -10, 10, 60])(
  "a replica whose clock is %i minutes off rotates nothing a second time",
  async (minutes) => {
    fixture = await TokenFixture.open();
    const { clock } = fixture;
    const off = { now: () => clock.now(), date: () => clock.date() + minutes * minute, after: clock.after.bind(clock) };
    const [right, wrong] = [fixture.replica("right"), fixture.replica("wrong", { clock: off })];
    await fixture.see(right, wrong);
    await eventually(() => expect([...right.knows("token-0"), ...wrong.knows("token-0")]).toEqual([true, true]));
    let handedOut = "token-0";
    for (let quarters = 1; quarters <= 4 * 18; quarters++) {
      await fixture.pass(15 * minute, right, wrong);
      // User data that was given a quarter of an hour ago still works, at either replica.
      expect([right.knows(handedOut), wrong.knows(handedOut), quarters]).toEqual([[true], [true], quarters]);
      handedOut = readTokenSecret(await fixture.stored()).token ?? "";
    }
    expect(right.rotations + wrong.rotations).toBe(3);
  },
);
