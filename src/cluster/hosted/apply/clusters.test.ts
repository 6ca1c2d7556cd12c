import { expect, test } from "vitest";
import { collectionPath } from "../../kube/paths.js";
import type { Side } from "../render/manifest.js";
import { collectionsOf } from "./clusters.js";

const pathsOf = (side: Side): string[] =>
  collectionsOf(side, "clusters-demo").map(([kind, namespace]) => collectionPath(kind, namespace));

test("prune does not take the Endpoints that a cluster makes for our Services for ours", () => {
  const paths = pathsOf("control-plane");
  expect(paths).toContain("/api/v1/namespaces/clusters-demo/services");
  expect(paths.filter((path) => path.endsWith("/endpoints"))).toEqual([]);
  expect(paths.every((path) => path.includes("/namespaces/clusters-demo/"))).toBe(true);
});

test("prune deletes APIServices of the hosted cluster before the Services behind them", () => {
  const paths = pathsOf("hosted");
  expect(paths[0]).toBe("/apis/apiregistration.k8s.io/v1/apiservices");
  const [services, endpoints] = ["services", "endpoints"].map((name) => `/api/v1/namespaces/default/${name}`);
  expect(paths).toEqual(expect.arrayContaining([services, endpoints]));
  expect(paths).toContain("/apis/apps/v1/namespaces/kube-system/daemonsets");
});
