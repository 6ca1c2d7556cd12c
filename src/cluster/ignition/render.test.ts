import { expect, test } from "vitest";
import { dataUrlOf } from "../../base/data-url.js";
import type { Config, Resource } from "./config.js";
import { requireConfig } from "./parse.js";
import { type FetchConfig, render } from "./render.js";
import { inlineContent } from "./resource.js";

const text = (body: object, ignition: object = {}) =>
  JSON.stringify({ ...body, ignition: { version: "3.2.0", ...ignition } });
const config = (body: object, ignition: object = {}): Config => requireConfig(text(body, ignition), "x");
const files = (mode: number, ...paths: string[]) => ({ storage: { files: paths.map((path) => ({ path, mode })) } });
const inline: FetchConfig = (resource, _, what) => inlineContent(resource, what);
const modes = ({ storage }: Config) => storage?.files?.map(({ path, mode }) => [path, mode]);

test("render merges depth first, in order, each config over the result so far", async () => {
  const inner = dataUrlOf(text(files(3, "/a", "/c")));
  const first = dataUrlOf(text(files(2, "/a", "/b"), { config: { merge: [{ source: inner }] } }));
  const second = dataUrlOf(text(files(4, "/b")));
  const top = config(files(1, "/a", "/d"), { config: { merge: [{ source: first }, { source: second }] } });
  const result = await render(top, inline);
  expect(modes(result)).toEqual([
    ["/a", 3],
    ["/d", 1],
    ["/b", 4],
    ["/c", 3],
  ]);
  expect(result.ignition).toEqual({ version: "3.5.0" });
});

test("render lets replace win over merge and over the config itself", async () => {
  const replacement = { source: dataUrlOf(text(files(2, "/r"))) };
  const top = config(files(1, "/a"), { config: { replace: replacement, merge: [{ source: "https://a.example" }] } });
  expect(modes(await render(top, inline))).toEqual([["/r", 2]]);
});

test("render fetches with the settings of the configs around it, a child's own included", async () => {
  const proxies: (string | undefined)[] = [];
  const served: Record<string, string> = {
    "https://a.example/1": text(
      {},
      { proxy: { httpProxy: "http://child" }, config: { merge: [{ source: "https://a.example/2" }] } },
    ),
    "https://a.example/2": text({}),
    "https://a.example/3": text({}),
  };
  const fetch: FetchConfig = async ({ source = "" }: Resource, settings) => {
    proxies.push(settings.ignition.proxy?.httpProxy);
    return Buffer.from(served[source]!);
  };
  const merge = [{ source: "https://a.example/1" }, { source: "https://a.example/3" }];
  await render(config({}, { proxy: { httpProxy: "http://parent" }, config: { merge } }), fetch);
  expect(proxies).toEqual(["http://parent", "http://child", "http://child"]);
});

test.each([
  [
    "configs that are not valid together",
    config(
      { storage: { links: [{ path: "/l", target: "/t" }] } },
      {
        config: { merge: [{ source: dataUrlOf(text(files(1, "/l/a"))) }] },
      },
    ),
    inline,
    "DB_IGNITION_INVALID",
    "storage.files.0: the path leads through a link",
  ],
  [
    "a child that is no config",
    config({}, { config: { merge: [{ source: "data:,x" }] } }),
    inline,
    "DB_IGNITION_CONFIG",
    "the config named in ignition.config.merge.0 cannot be read",
  ],
  [
    "a config that refers to itself",
    config({}, { config: { replace: { source: "https://a.example" } } }),
    () => Buffer.from(text({}, { config: { replace: { source: "https://a.example" } } })),
    "DB_IGNITION_RESOURCE",
    "more than 100 configs refer to each other",
  ],
])("render refuses %s", async (_, top, fetch, code, sentence) => {
  await expect(render(top, fetch)).rejects.toThrow(
    expect.objectContaining({ code, message: expect.stringContaining(sentence) }),
  );
});
