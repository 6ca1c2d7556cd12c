import { expect, test } from "vitest";
import { collectionPath } from "../../kube/paths.js";
import type { Side } from "../render/manifest.js";
import { collectionsOf } from "./clusters.js";

const pathsOf = (side: Side): string[] =>
  collectionsOf(side, "clusters-demo").map(([kind, namespace]) => collectionPath(kind, namespace));

test("what a cluster makes by itself for our Services, with their labels, is not taken for ours", () => {
  const paths = pathsOf("control-plane");
  expect(paths).toContain("/api/v1/namespaces/clusters-demo/services");
  expect(paths.filter((path) => path.endsWith("/endpoints"))).toEqual([]);
  expect(paths.every((path) => path.includes("/namespaces/clusters-demo/"))).toBe(true);
});

test("the hosted cluster's APIs are looked for where they are, and go before what they lead to", () => {
  const paths = pathsOf("hosted");
  expect(paths[0]).toBe("/apis/apiregistration.k8s.io/v1/apiservices");
  const [services, endpoints] = ["services", "endpoints"].map((name) => `/api/v1/namespaces/default/${name}`);
  expect(paths).toEqual(expect.arrayContaining([services, endpoints]));
  expect(paths).toContain("/apis/apps/v1/namespaces/kube-system/daemonsets");
});
