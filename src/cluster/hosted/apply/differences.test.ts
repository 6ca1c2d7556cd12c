import { expect, test } from "vitest";
import { differences } from "./differences.js";

const plain = { isSecret: false };
const meta = { name: "a", resourceVersion: "1", generation: 1, managedFields: [1], uid: "x", labels: { app: "a" } };

test("what the API server writes for itself is no difference", () => {
  const after = { metadata: { ...meta, resourceVersion: "2", generation: 2, managedFields: [] }, status: { ready: 1 } };
  expect(differences({ metadata: meta, status: {} }, after, plain)).toEqual([]);
});

test("what changed, came or went is named by its path", () => {
  const before = { metadata: meta, spec: { replicas: 2, args: ["a", "b"], old: true } };
  const after = {
    metadata: { ...meta, labels: { app: "b" } },
    spec: { replicas: 3, args: ["a", "c"], young: { x: 1 } },
  };
  expect(differences(before, after, plain)).toEqual([
    { path: "metadata.labels.app", before: "a", after: "b" },
    { path: "spec.replicas", before: 2, after: 3 },
    { path: "spec.args.1", before: "b", after: "c" },
    { path: "spec.old", before: true, after: undefined },
    { path: "spec.young", before: undefined, after: { x: 1 } },
  ]);
});

test("a Secret's values are compared, never shown", () => {
  const [one, two] = ["one-key", "two-key"].map((text) => Buffer.from(text).toString("base64"));
  const changes = differences(
    { data: { "tls.key": one } },
    { data: { "tls.key": two, "ca.crt": two } },
    { isSecret: true },
  );
  expect(changes.map(({ path }) => path)).toEqual(["data.tls.key", "data.ca.crt"]);
  for (const { before, after } of changes) {
    for (const value of [before, after]) expect(value ?? "<hidden, ").toMatch(/^<hidden, /);
  }
  expect(changes[0]!.before).not.toBe(changes[0]!.after);
});
