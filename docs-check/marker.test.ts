import { expect, test } from "vitest";
import { parseMarker } from "./marker.js";

test("a check says where, how long and how it ends", () => {
  expect(parseMarker(" check: tunnel ")).toEqual({
    ...{ kind: "check", fixture: "tunnel", at: undefined, staysAs: undefined, withinMs: 0, endsWith: 0 },
  });
  expect(parseMarker("check: tunnel, at node, stays as agent, within 20s, ends with 22")).toMatchObject({
    ...{ at: "node", staysAs: "agent", withinMs: 20_000, endsWith: 22 },
  });
});

test("other markers", () => {
  expect(parseMarker("not checked: needs a cloud, and time")).toEqual({
    ...{ kind: "not checked", reason: "needs a cloud, and time" },
  });
  expect(parseMarker("prints")).toEqual({ kind: "prints" });
  expect(parseMarker("file: hosted, hosted.yaml")).toEqual({ kind: "file", fixture: "hosted", name: "hosted.yaml" });
  expect(parseMarker("lab: bare, with the flag")).toEqual({ kind: "lab", fixture: "bare", step: "with the flag" });
  expect(parseMarker("a comment of somebody else's")).toBeUndefined();
});

test.each([
  "check: tunnel, sometimes",
  "check: tunnel, within 20",
  "not checked:",
  "check:",
  "lab: bare",
  "file: a, b, c",
])("%s is a mistake", (text) => {
  expect(() => parseMarker(text)).toThrow();
});
