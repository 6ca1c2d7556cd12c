import { expect, test } from "vitest";
import { refusalError, unreachableError } from "./errors.js";
import { find } from "./objects.js";
import type { KubeApi, RequestOptions } from "./port.js";

const path = "/api/v1/namespaces/shop/secrets/key";

function answering(answer: () => object): Pick<KubeApi, "get"> & { asked: [string, RequestOptions | undefined][] } {
  const asked: [string, RequestOptions | undefined][] = [];
  return {
    asked,
    get: async <T>(what: string, options?: RequestOptions) => {
      asked.push([what, options]);
      return answer() as T;
    },
  };
}

test("find resolves to an object with one request and the caller's options", async () => {
  const secret = { metadata: { name: "key" } };
  const api = answering(() => secret);
  expect(await find(api, path, { timeoutMs: 5000 })).toBe(secret);
  expect(api.asked).toEqual([[path, { timeoutMs: 5000 }]]);
});

test("find resolves to undefined for an object that does not exist", async () => {
  const api = answering(() => {
    throw refusalError(`get ${path}`, 404, "");
  });
  expect(await find(api, path)).toBeUndefined();
});

test.each([
  ["may not be read", refusalError("it", 403, "")],
  ["is behind a broken API", refusalError("it", 500, "")],
  ["is behind an API that does not answer", unreachableError("it", "https://api", "no route")],
  ["met a mistake of ours", new TypeError("404")],
])("find does not take an object that %s for missing", async (_, reason) => {
  const api = answering(() => {
    throw reason;
  });
  await expect(find(api, path)).rejects.toBe(reason);
});
