/** A token's life while the API is away for one write, or the clocks of two replicas differ: machines are served on. */
import { afterEach, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { InterruptedApi, type Interruption } from "../testing/interrupted-api.js";
import { expireAfterMs, rotateAfterMs, withExpiry } from "../token/rotation.js";
import { readTokenSecret } from "../token/token-secret.js";
import { collection, path, TokenFixture } from "./testing/fixture.js";

let house: TokenFixture;

afterEach(() => house.close());

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
  house = await TokenFixture.open();
  const interrupted = new InterruptedApi(house.api, at, how);
  const one = house.replica("a", { api: interrupted.api });
  await house.see(one);
  await eventually(() => expect(one.knows("token-0")).toEqual([true]));

  /** The tokens of the Secret are good all the time, and after a few minutes nothing else is. */
  const rotated = async (before: string) => {
    await house.pass(rotateAfterMs, one);
    expect(one.knows(before)).toEqual([true]);
    for (let minutes = 0; minutes < 3; minutes++) await house.pass(minute, one);
    const { oldToken, token = "" } = readTokenSecret(await house.stored());
    expect([oldToken, one.knows(token, before)]).toEqual([before, [true, true]]);
    expect(one.book.size).toBe(2);
    return token;
  };
  const second = await rotated("token-0");
  expect(await house.outcome()).toMatchObject({ reason: "AsExpected" });
  await rotated(second);
  expect(one.knows("token-0")).toEqual([false]);

  await house.api.update(path, withExpiry(await house.stored(), house.clock.date())!);
  await house.see(one);
  await house.pass(expireAfterMs - minute, one);
  expect(one.knows(second)).toEqual([true]);
  house.clock.advance(2 * minute);
  // Tried, and at rest again: what comes next is timed from there.
  await eventually(() => expect([interrupted.writes >= 4, house.clock.waiting.length]).toEqual([true, 1]));
  house.clock.advance(minute);
  await expect.poll(async () => (await house.api.list(collection)).items.length, { timeout: 10_000 }).toBe(0);
  await house.see(one);
  await eventually(() => expect(one.book.size).toBe(0));
  await eventually(() => expect(one.errors.length).toBeGreaterThan(0));
});

test.each([-60, -10, 10, 60])(
  "a replica whose clock is %i minutes off rotates nothing a second time",
  async (minutes) => {
    house = await TokenFixture.open();
    const { clock } = house;
    const off = { now: () => clock.now(), date: () => clock.date() + minutes * minute, after: clock.after.bind(clock) };
    const [right, wrong] = [house.replica("right"), house.replica("wrong", { clock: off })];
    await house.see(right, wrong);
    await eventually(() => expect([...right.knows("token-0"), ...wrong.knows("token-0")]).toEqual([true, true]));
    let handedOut = "token-0";
    for (let quarters = 1; quarters <= 4 * 18; quarters++) {
      await house.pass(15 * minute, right, wrong);
      // Whoever was given user data a quarter of an hour ago is still let in, by either.
      expect([right.knows(handedOut), wrong.knows(handedOut), quarters]).toEqual([[true], [true], quarters]);
      handedOut = readTokenSecret(await house.stored()).token ?? "";
    }
    expect(right.rotations + wrong.rotations).toBe(3);
  },
);
