import { expect, test } from "vitest";
import { collectionPath, namedPath, objectPath } from "./paths.js";

const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "certs", namespace: "kube-system" } };

test("paths of the core API and of API groups, in a namespace and in none", () => {
  expect(objectPath(secret)).toBe("/api/v1/namespaces/kube-system/secrets/certs");
  expect(collectionPath("DaemonSet", "a")).toBe("/apis/apps/v1/namespaces/a/daemonsets");
  expect(collectionPath("Pod")).toBe("/api/v1/pods");
  expect(namedPath("Node", { name: "w0" })).toBe("/api/v1/nodes/w0");
});

test("a name cannot lead out of its path", () => {
  expect(namedPath("Secret", { namespace: "../b", name: "c?d" })).toBe("/api/v1/namespaces/..%2Fb/secrets/c%3Fd");
});

test("a cluster-wide object has no namespace in its path, whatever its metadata say", () => {
  const metadata = { name: "a", namespace: "b" };
  expect(objectPath({ apiVersion: "v1", kind: "Namespace", metadata })).toBe("/api/v1/namespaces/a");
});

test.each([
  [{ ...secret, kind: "Widget" }, /^The Widget of v1 is of a kind that drawbridge does not know, .*\.$/],
  [{ ...secret, kind: "toString" }, /^The toString of v1 is of a kind that drawbridge does not know/],
  [{ ...secret, apiVersion: "example.com/v1" }, /^The Secret of example.com\/v1 is of a kind/],
  [{ ...secret, metadata: { name: "certs" } }, /^The Secret certs has no namespace/],
  [{ ...secret, metadata: { namespace: "a" } }, /^The Secret has no name/],
])("an object that has no path is refused in one sentence: %j", (object, sentence) => {
  expect(() => objectPath(object)).toThrow(sentence);
});
