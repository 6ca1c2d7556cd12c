import { expect, test } from "vitest";
import { shortNames } from "./names.js";

const shown = (names: readonly string[], length: number) => names.map(shortNames(names, length));

test("names that fit stay whole", () => {
  expect(shown(["node-1", "node-2"], 8)).toEqual(["node-1", "node-2"]);
});

test("what all have at their end is left out first", () => {
  const names = ["gke-a-1.us-central-1.compute.internal", "gke-b-22.us-central-1.compute.internal"];
  expect(shown(names, 14)).toEqual(["gke-a-1.us…", "gke-b-22.us…"]);
});

test("of what all have at their end as much stays as has room", () => {
  const names = ["1.payments.production.svc.cluster.local:8443", "2.payments.production.svc.cluster.local:8443"];
  expect(shown(names, 30)).toEqual(["1.payments.production.svc…", "2.payments.production.svc…"]);
});

test("a short one among them does not matter", () => {
  const names = ["10.0.3.7", "gke-a-1.us-central-1.compute.internal", "gke-b-22.us-central-1.compute.internal"];
  expect(shown(names, 14)).toEqual(["10.0.3.7", "gke-a-1.us…", "gke-b-22.us…"]);
});

test("then what all have at their beginning, but no half of a number", () => {
  const names = Array.from({ length: 200 }, (_, at) => `production-cluster-pool-${100 + at}.eu.example`);
  expect(shown(names, 8).slice(0, 2)).toEqual(["…100…", "…101…"]);
  expect(new Set(shown(names, 8)).size).toBe(200);
  expect(shown(names, 12)[0]).toBe("…pool-100…");
});

test("what is still too long is cut in the middle", () => {
  expect(shown(["the-only-one-with-a-long-name"], 11)).toEqual(["the-o…-name"]);
  expect(shown(["10.128.100.101:8443", "somewhere-else.example.com:443"], 13)).toEqual([
    "10.128…1:8443",
    "somewh…om:443",
  ]);
});

test("where two would look alike there, they are cut elsewhere", () => {
  const names = ["10.128.110.1:8443", "10.128.120.1:8443", "somewhere.example:443"];
  expect(shown(names, 13)).toEqual(["…8.110.1:8443", "…8.120.1:8443", "….example:443"]);
});
