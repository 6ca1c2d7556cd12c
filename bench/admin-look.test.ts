import { expect, test } from "vitest";
import { measureLooks } from "./admin-look.js";

test("a look at a server's tunnels is measured with all of them in it", async () => {
  const { still, busy, longestTurn, rows } = await measureLooks(20, 3, 1);
  expect(rows).toBe(20);
  for (const { least, median, most } of [still, busy, longestTurn]) {
    expect(least).toBeGreaterThan(0);
    expect([least, median, most]).toEqual([least, median, most].sort((one, two) => one - two));
  }
  expect(longestTurn.most).toBeLessThanOrEqual(busy.most);
});
