import { expect, test } from "vitest";
import type { Config } from "./config.js";
import { merge } from "./render.js";

type Body = Omit<Config, "ignition"> & { ignition?: Omit<Config["ignition"], "version"> };
const config = (body: Body): Config => ({ ...body, ignition: { ...body.ignition, version: "3.5.0" } });
const merged = (parent: Body, child: Body) => merge(config(parent), config(child));

test("a child's values win, absent ones leave the parent's, empty ones do not", () => {
  const parent = {
    path: "/a",
    mode: 420,
    user: { name: "root" },
    contents: { source: "data:,a", compression: "gzip" },
  };
  const child = { path: "/a", user: { id: 0 }, contents: { compression: "", source: "data:,b" } };
  expect(merged({ storage: { files: [parent] } }, { storage: { files: [child] } }).storage).toEqual({
    files: [
      {
        path: "/a",
        mode: 420,
        user: { id: 0, name: "root" },
        contents: { source: "data:,b", compression: "" },
      },
    ],
  });
});

test("entries keep the parent's order, new ones follow", () => {
  const units = (...names: string[]) => ({ systemd: { units: names.map((name) => ({ name, enabled: true })) } });
  const { systemd } = merged(units("b.service", "a.service"), {
    systemd: { units: [{ name: "c.service" }, { name: "a.service", enabled: false }] },
  });
  expect(systemd?.units).toEqual([
    { name: "b.service", enabled: true },
    { name: "a.service", enabled: false },
    { name: "c.service" },
  ]);
});

test("a path changes its kind with the child's", () => {
  const parent = { files: [{ path: "/a" }, { path: "/b" }], directories: [{ path: "/c", mode: 448 }] };
  const child = { links: [{ path: "/a", target: "/t" }], files: [{ path: "/c", mode: 384 }] };
  expect(merged({ storage: parent }, { storage: child }).storage).toEqual({
    files: [{ path: "/b" }, { path: "/c", mode: 384 }],
    links: [{ path: "/a", target: "/t" }],
  });
});

test("kernel arguments change sides with the child's", () => {
  const { kernelArguments } = merged(
    { kernelArguments: { shouldExist: ["a", "b"] } },
    { kernelArguments: { shouldNotExist: ["a"], shouldExist: ["b", "c"] } },
  );
  expect(kernelArguments).toEqual({ shouldExist: ["b", "c"], shouldNotExist: ["a"] });
});

test("a header without value takes the parent's away, and stays where there was none", () => {
  const source = "https://a.example";
  const reference = (httpHeaders: { name: string; value?: string }[]) => ({
    ignition: { config: { merge: [{ source, httpHeaders }] } },
  });
  const result = merged(
    reference([
      { name: "a", value: "1" },
      { name: "b", value: "2" },
    ]),
    reference([{ name: "a" }, { name: "b", value: "3" }, { name: "c" }]),
  );
  expect(result.ignition.config?.merge).toEqual([{ source, httpHeaders: [{ name: "b", value: "3" }, { name: "c" }] }]);
});

test("authorities are added, appended lists appended, even if they repeat", () => {
  const body = (source: string): Body => ({
    ignition: { security: { tls: { certificateAuthorities: [{ source: "data:,0" }, { source }] } } },
    storage: {
      files: [{ path: "/a", append: [{ source: "data:,0" }] }],
      raid: [{ name: "r", options: ["-x"], devices: ["/dev/a"] }],
    },
  });
  const { ignition, storage } = merged(body("data:,1"), body("data:,2"));
  const sources = ignition.security?.tls?.certificateAuthorities?.map((authority) => authority.source);
  expect(sources).toEqual(["data:,0", "data:,1", "data:,2"]);
  expect(storage?.files?.[0]?.append).toHaveLength(2);
  expect(storage?.raid).toEqual([{ name: "r", options: ["-x", "-x"], devices: ["/dev/a"] }]);
});

test("partitions are the same by number, else by label", () => {
  const disk = (...partitions: { number?: number; label?: string; sizeMiB?: number }[]): Body => ({
    storage: { disks: [{ device: "/dev/a", partitions }] },
  });
  const { storage } = merged(
    disk({ number: 1, label: "a" }, { label: "b" }),
    disk({ label: "b", sizeMiB: 1 }, { label: "a" }, { number: 1, sizeMiB: 2 }),
  );
  expect(storage?.disks?.[0]?.partitions).toEqual([
    { number: 1, label: "a", sizeMiB: 2 },
    { label: "b", sizeMiB: 1 },
    { label: "a" },
  ]);
});
