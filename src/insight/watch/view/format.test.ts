import { expect, test } from "vitest";
import { bytesText, countdown, durationText, rateText, shareText } from "./format.js";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 KiB"],
  [1536, "1.5 KiB"],
  [150 * 1024, "150 KiB"],
  [5 * 1024 ** 3, "5.0 GiB"],
  [-3, "0 B"],
])("%d bytes are %s", (count, text) => expect(bytesText(count)).toBe(text));

test.each([
  [0.04, "0.0 ms"],
  [12.4, "12 ms"],
  [3210, "3.2 s"],
  [59_000, "59 s"],
  [240_000, "4 min"],
  [7_500_000, "2 h 5 min"],
  [7_200_000, "2 h"],
  [3 * 86_400_000 + 4 * 3_600_000, "3 d 4 h"],
])("%d ms are %s", (ms, text) => expect(durationText(ms)).toBe(text));

test("rates are bytes a second", () => expect(rateText(2048)).toBe("2.0 KiB/s"));

test("a certificate's end is near within a day, and over afterwards", () => {
  expect(countdown(2 * 86_400_000, 0)).toEqual({ text: "2 d left", urgency: "fine" });
  expect(countdown(3_600_000, 0)).toEqual({ text: "1 h left", urgency: "soon" });
  expect(countdown(0, 120_000)).toEqual({ text: "expired 2 min ago", urgency: "over" });
});

test.each([
  [0, 10, "0 %"],
  [1, 1000, "<1 %"],
  [17, 100, "17 %"],
  [999, 1000, "99 %"],
  [5, 5, "100 %"],
])("%d of %d are %s", (part, whole, text) => expect(shareText(part, whole)).toBe(text));
