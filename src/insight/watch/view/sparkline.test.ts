import { expect, test } from "vitest";
import { sparkline } from "./sparkline.js";

test("established dials stand on failed ones, and empty steps draw nothing", () => {
  expect(sparkline({ dials: [4, 0, 2], failures: [1, 0, 2] }, 30, 20)).toEqual({
    dials: "M0 15v-15h9.6v15z",
    failures: "M0 20v-5h9.6v5zM20 20v-10h9.6v10z",
  });
});

test("one dial among thousands is seen", () => {
  expect(sparkline({ dials: [5000, 1], failures: [0, 0] }, 10, 20).dials).toContain("M5 20v-1h");
});

test("without a dial there is nothing", () => {
  expect(sparkline({ dials: [0, 0], failures: [0, 0] }, 10, 20)).toEqual({ dials: "", failures: "" });
});
