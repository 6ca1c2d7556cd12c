import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../kube/port.js";
import { shapeProblem } from "./apply-objects.js";
import { clusterMap, makePool, pullSecret } from "./testing/fixture.js";

/** The object with one of its parts replaced. */
function withPart(object: object, path: string, value: unknown): KubeObject {
  const [first = "", ...rest] = path.split(".");
  const inner = (object as Record<string, object>)[first] ?? {};
  return { ...object, [first]: rest.length === 0 ? value : withPart(inner, rest.join("."), value) };
}

describe("the shape of an object", () => {
  test.each([clusterMap, pullSecret, makePool(), { kind: "Node", spec: 1 }])("is fine: %j", (object) => {
    expect(shapeProblem(object as KubeObject)).toBeUndefined();
  });

  test.each<[object, string, unknown, string]>([
    [
      clusterMap,
      "metadata.labels",
      { "drawbridge/cluster": true },
      "metadata.labels.drawbridge/cluster must be a text",
    ],
    [clusterMap, "data.version", 4.18, "data.version must be a text, in quotes if need be"],
    [clusterMap, "data", "hello", "data must be a map"],
    [pullSecret, "data", ["x"], "data must be a map"],
    [makePool(), "spec", "hello", "spec must be a map"],
    [makePool(), "spec.config", "extra", "spec.config must be a list"],
    [makePool(), "spec.config", null, "spec.config must be a list"],
    [makePool(), "spec.config", ["extra"], "spec.config.0 must be a map"],
    [makePool(), "spec.replicas", "3", "spec.replicas must be a whole number"],
    [makePool(), "spec.replicas", 1.5, "spec.replicas must be a whole number"],
    [makePool(), "spec.pausedUntil", true, "spec.pausedUntil must be a text"],
    [makePool(), "spec.management.inPlace.maxUnavailable", [], "must be a number or a text"],
    [makePool(), "spec.release", [], "spec.release must be a map"],
    [makePool(), "status.conditions", {}, "status.conditions must be a list"],
    [makePool(), "metadata.finalizers", "x", "metadata.finalizers must be a list"],
  ])("of %j with %s = %j is not", (object, path, value, sentence) => {
    expect(shapeProblem(withPart(object, path, value))).toContain(sentence);
  });

  test("accepts null for an empty text or map", () => {
    for (const path of ["data", "metadata.labels", "data.version"]) {
      expect(shapeProblem(withPart(clusterMap, path, null))).toBeUndefined();
    }
  });
});
