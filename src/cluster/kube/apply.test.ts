import { expect, test } from "vitest";
import { applyObject, differences, outcomesText } from "./apply.js";
import { KubeApiError } from "./errors.js";
import type { KubeApi, KubeObject } from "./port.js";

const meta = { name: "a", resourceVersion: "1", generation: 1, managedFields: [1], uid: "x", labels: { app: "a" } };

test("what the API server writes for itself is no difference", () => {
  const after = { metadata: { ...meta, resourceVersion: "2", generation: 2, managedFields: [] }, status: { ready: 1 } };
  expect(differences({ metadata: meta, status: {} }, after, false)).toEqual([]);
});

test("what changed, came or went is named by its path", () => {
  const before = { metadata: meta, spec: { replicas: 2, args: ["a", "b"], old: true } };
  const after = {
    metadata: { ...meta, labels: { app: "b" } },
    spec: { replicas: 3, args: ["a", "c"], young: { x: 1 } },
  };
  expect(differences(before, after, false)).toEqual([
    { path: "metadata.labels.app", before: "a", after: "b" },
    { path: "spec.replicas", before: 2, after: 3 },
    { path: "spec.args.1", before: "b", after: "c" },
    { path: "spec.old", before: true, after: undefined },
    { path: "spec.young", before: undefined, after: { x: 1 } },
  ]);
});

test("a Secret's values are compared, never shown", () => {
  const [one, two] = ["one-key", "two-key"].map((text) => Buffer.from(text).toString("base64"));
  const changes = differences({ data: { "tls.key": one } }, { data: { "tls.key": two, "ca.crt": two } }, true);
  expect(changes.map(({ path }) => path)).toEqual(["data.tls.key", "data.ca.crt"]);
  for (const { before, after } of changes) {
    for (const value of [before, after]) expect(value ?? "<hidden, ").toMatch(/^<hidden, /);
  }
  expect(changes[0]!.before).not.toBe(changes[0]!.after);
});

test("a Secret that had no values, or has copies of them in annotations, does not show them either", () => {
  const annotations = { "kubectl.kubernetes.io/last-applied-configuration": '{"data":{"key":"c2VjcmV0"}}' };
  const changes = differences(
    { metadata: meta },
    { metadata: { ...meta, annotations }, data: { key: "c2VjcmV0" } },
    true,
  );
  expect(changes.map(({ path }) => path)).toEqual(["metadata.annotations", "data"]);
  expect(JSON.stringify(changes)).not.toContain("c2VjcmV0");
});

const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "b" } };
const options = { fieldManager: "test" };

function apiWith(before: KubeObject | undefined, apply: (object: KubeObject) => KubeObject): KubeApi {
  return {
    async get() {
      if (before === undefined) throw new KubeApiError("no such object", { status: 404 });
      return before;
    },
    apply: async (_: string, object: KubeObject) => apply(object),
  } as unknown as KubeApi;
}

test("an object that was not there is created, one that stays the same is unchanged", async () => {
  const keep = (object: KubeObject) => object;
  await expect(applyObject(apiWith(undefined, keep), map, options)).resolves.toMatchObject({ action: "created" });
  await expect(applyObject(apiWith(map, keep), map, options)).resolves.toEqual({
    object: "ConfigMap b/a",
    action: "unchanged",
  });
});

test.each([
  [
    409,
    "somebody manages .data.x",
    "ConfigMap b/a was refused: somebody manages .data.x; --force-conflicts takes the fields over.",
  ],
  [
    404,
    'namespaces "b" not found',
    'ConfigMap b/a was refused: namespaces "b" not found; make it with kubectl create namespace b.',
  ],
  [403, "you may not", "ConfigMap b/a was refused: you may not."],
])("a refusal with %d says what to do", async (status, detail, message) => {
  const refuse = () => {
    throw new KubeApiError("refused", { status, detail });
  };
  await expect(applyObject(apiWith(map, refuse), map, options)).rejects.toMatchObject({
    code: "DB_OBJECT_REFUSED",
    message,
  });
});

test("the text of outcomes lists what changed, with a count of everything", () => {
  const text = outcomesText([
    {
      object: "ConfigMap b/a",
      cluster: "hosted",
      action: "changed",
      changes: [{ path: "data.x", before: undefined, after: 1 }],
    },
    { object: "Secret b/c", action: "unchanged" },
    { object: "Route b/d", action: "skipped", why: "no such API" },
  ]);
  expect(text).toBe(`changed    hosted      ConfigMap b/a
             data.x: nothing -> 1
skipped    Route b/d: no such API
1 changed, 1 skipped, 1 unchanged
`);
  expect(outcomesText([])).toBe("nothing to do\n");
});
