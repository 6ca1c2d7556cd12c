import { expect, test } from "vitest";
import { isNotFound, refusalError } from "./errors.js";

const LIST = "GET /apis/hypershift.openshift.io/v1beta1/namespaces/ns/nodepools";

test("a kind that the API does not serve is told from an object that is missing", () => {
  const kind = refusalError(LIST, 404, "404 page not found\n");
  expect(kind.code).toBe("DB_API_KIND");
  expect(kind.message).toContain("does not serve nodepools of hypershift.openshift.io/v1beta1");
  expect(isNotFound(kind)).toBe(true);
  const status = JSON.stringify({ reason: "NotFound", message: 'nodepools "x" not found' });
  expect(refusalError(`${LIST}/x`, 404, status)).toMatchObject({ code: "DB_API_REQUEST", reason: "NotFound" });
  expect(refusalError("GET /healthx", 404, "404 page not found")).toMatchObject({ code: "DB_API_REQUEST" });
});
