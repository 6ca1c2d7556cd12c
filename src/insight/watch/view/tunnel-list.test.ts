import { expect, test } from "vitest";
import { tunnel } from "../testing/samples.js";
import { listTunnels } from "./tunnel-list.js";

const tunnels = [
  tunnel(1, { target: "kubelet:10250", bytesToTarget: 5 }),
  tunnel(2, { target: "webhook:8443", bytesToTarget: 9, agent: { key: 2, id: "Worker-B" }, state: "dialing" }),
  tunnel(3, { target: "kubelet:10250", bytesToTarget: 9, lastError: "no route to host" }),
];
const ids = (search: string, column: "target" | "to" | "age" = "target", descending = false) =>
  listTunnels(tunnels, search, { column, descending }).map(({ id }) => id);

test("a search finds tunnels that contain every word", () => {
  expect(ids("kubelet")).toEqual([1, 3]);
  expect(ids("worker-b dialing")).toEqual([2]);
  expect(ids("ROUTE")).toEqual([3]);
  expect(ids("kubelet worker-b")).toEqual([]);
});

test("every column sorts in both directions, and equal rows keep their order", () => {
  expect(ids("", "to")).toEqual([1, 2, 3]);
  expect(ids("", "to", true)).toEqual([2, 3, 1]);
  expect(ids("", "age")).toEqual([1, 2, 3]);
});
