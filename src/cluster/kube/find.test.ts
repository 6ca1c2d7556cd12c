import { expect, test } from "vitest";
import { refused, unreachable } from "./errors.js";
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

test("what is there is given back, asked for once and as the caller wished", async () => {
  const secret = { metadata: { name: "key" } };
  const api = answering(() => secret);
  expect(await find(api, path, { timeoutMs: 5000 })).toBe(secret);
  expect(api.asked).toEqual([[path, { timeoutMs: 5000 }]]);
});

test("what is missing is undefined", async () => {
  const api = answering(() => {
    throw refused(`get ${path}`, 404, "");
  });
  expect(await find(api, path)).toBeUndefined();
});

test.each([
  ["may not be read", refused("it", 403, "")],
  ["is behind a broken API", refused("it", 500, "")],
  ["is behind an API that does not answer", unreachable("it", "https://api", "no route")],
  ["met a mistake of ours", new TypeError("404")],
])("what %s is not taken for missing", async (_, reason) => {
  const api = answering(() => {
    throw reason;
  });
  await expect(find(api, path)).rejects.toBe(reason);
});
