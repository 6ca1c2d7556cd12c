import { expect, test } from "vitest";
import {
  connectedHeader,
  FEATURES_KEY,
  featureHeader,
  featuresIn,
  isConnectedAlready,
  OUR_FEATURES,
  SEARCHERS_KEY,
  searchersHeader,
  searchersIn,
} from "./features.js";

const nothing = { extended: false, echo: false };

test.each([
  ["1;credit,end-of-stream,echo", { extended: true, echo: true }],
  ["1;credit,end-of-stream", { extended: true, echo: false }],
  ["1;credit,end-of-stream,something-new,echo", { extended: true, echo: true }],
  ["1;credit,echo", nothing],
  ["2;credit,end-of-stream,echo", nothing],
  ["1", nothing],
  ["", nothing],
  [undefined, nothing],
  [["1;credit,end-of-stream", "1;credit,end-of-stream"], nothing],
])("a peer that says %j", (value, expected) => {
  expect(featuresIn(value)).toEqual(expected);
});

test("an answer names what both can do, and nobody who said nothing gets one", () => {
  expect(featureHeader(OUR_FEATURES)).toEqual({ [FEATURES_KEY]: "1;credit,end-of-stream,echo" });
  expect(featureHeader(featuresIn("1;credit,end-of-stream,more"))).toEqual({
    [FEATURES_KEY]: "1;credit,end-of-stream",
  });
  expect(featureHeader(nothing)).toEqual({});
});

test("the number of agents that share a search goes to those with whom features were agreed on, and comes back", () => {
  const header = searchersHeader(OUR_FEATURES, 1000);
  expect(searchersIn(header[SEARCHERS_KEY])).toBe(1000);
  expect(searchersHeader(nothing, 1000)).toEqual({});
});

test.each([[undefined], [""], ["0"], ["-1"], ["1.5"], ["1e3"], ["NaN"], ["Infinity"], ["1000000"], [["1", "2"]]])(
  "a number of agents that says %j says nothing",
  (value) => {
    expect(searchersIn(value)).toBeUndefined();
  },
);

test("a server finds its own ID among those that an agent is connected to, whatever characters it has", () => {
  const headers = connectedHeader(["one", "two, with a comma"]);
  const metadata = (key: string) => (headers[key] === undefined ? [] : [headers[key]]);
  expect(["one", "two, with a comma", "two", "tw"].map((id) => isConnectedAlready(metadata, id))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(connectedHeader([])).toEqual({});
  expect(isConnectedAlready(() => [], "one")).toBe(false);
});
