import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionPath, namedPath, typed } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import type { ConfigMap } from "../objects.js";
import { NO_SHAPE } from "../providers/settings.js";
import { createMemoryApi } from "../testing/memory-api.js";
import type { WorkerObject } from "./resource.js";
import { WorkerStore } from "./store.js";
import { takeOver } from "./take-over.js";
import type { Worker } from "./worker.js";

const namespace = "drawbridge";
let folder = "";
let api: KubeApi;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-workers-"));
  api = createMemoryApi();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const worker: Worker = {
  ...{ name: "w-0", zone: "", pool: "c/p", provider: "command", hash: "h", ips: [], made: false, ownToken: false },
  ...{ createCommand: ["true"], deleteCommand: ["false"], removedByCommand: true },
  ...{ notBefore: "2031-01-01T00:00:00Z", deadline: "2031-01-01T02:00:00Z" },
  shape: NO_SHAPE,
};

const storeAt = (directory: string) => new WorkerStore({ api, namespace, directory: join(folder, directory) });
const objectOf = (name: string) => api.get<WorkerObject>(namedPath("Worker", { namespace, name }));

describe("the store of workers", () => {
  test("reads the workers that it made", async () => {
    const store = storeAt("a");
    await store.create([worker]);
    expect(await store.read()).toEqual([worker]);
  });

  test("keeps commands on this disk and in no object, so that another host has to be told them", async () => {
    await storeAt("a").create([worker]);
    expect(JSON.stringify(await objectOf("w-0"))).not.toMatch(/Command":\[/);
    expect(await storeAt("b").read()).toEqual([{ ...worker, createCommand: [], deleteCommand: [] }]);
  });

  test("keeps arguments and the address of libvirt on this disk, and says elsewhere only that there are arguments", async () => {
    const own = { createArguments: ["--x"], connection: "qemu:///system" };
    await storeAt("a").create([{ ...worker, provider: "libvirt", ...own }]);
    expect(await storeAt("a").read()).toMatchObject([{ ...own, hasCreateArguments: true }]);
    const { spec } = await objectOf("w-0");
    expect([spec?.hasCreateArguments, JSON.stringify(spec)]).toEqual([true, expect.not.stringMatching(/--x|qemu:/)]);
    const [elsewhere] = await storeAt("b").read();
    expect([elsewhere?.createArguments, elsewhere?.connection]).toEqual([undefined, undefined]);
  });

  test("reads a worker of the provider none by its former name, too", async () => {
    const spec = { pool: "c/p", provider: "files", made: true };
    const metadata = { namespace, name: "w-9" };
    await api.create(collectionPath("Worker", namespace), typed("Worker", { metadata, spec }));
    expect(await storeAt("a").read()).toMatchObject([{ name: "w-9", provider: "none", made: true }]);
  });

  test("takes what was seen of a machine for nothing when the machine is installed again", async () => {
    const [before, again] = ["2031-01-01T00:00:00Z", "2031-02-01T00:00:00Z"];
    const seen = { served: { hash: "h", at: before }, readyAt: before };
    const read = async (name: string, spec: object, status: object) => {
      const object = typed("Worker", { metadata: { namespace, name }, spec: { pool: "c/p", ...spec } });
      const made = await api.create<WorkerObject>(collectionPath("Worker", namespace), object);
      await api.update(`${namedPath("Worker", { namespace, name })}/status`, { ...made, status } as WorkerObject);
      const worker = (await storeAt("a").read()).find((one) => one.name === name);
      return [worker?.served, worker?.readyAt];
    };
    expect(await read("w-1", {}, seen)).toEqual(["h", before]);
    expect(await read("w-2", { reinstalled: again }, seen)).toEqual([undefined, undefined]);
    expect(await read("w-3", { reinstalled: again }, { ...seen, installation: again })).toEqual(["h", before]);
  });

  test("refuses a name that is in use, and one that was used before", async () => {
    const store = storeAt("a");
    await store.create([worker]);
    await expect(storeAt("b").create([worker])).rejects.toThrow("the name w-0 is in use, or was used before");
    await store.forget("w-0");
    expect([await store.read(), await storeAt("b").numbers()]).toEqual([[], new Map([["w", 1]])]);
    await expect(storeAt("b").create([worker])).rejects.toThrow("the name w-0 is in use, or was used before");
  });

  test("asks the API server when a machine is installed again, and leaves nothing there", async () => {
    const [path, made] = [collectionPath("Lease", namespace), "2031-02-03T04:05:06Z"];
    const inAnotherTime: KubeApi = {
      ...api,
      create: async (at, object, options) => {
        const created = await api.create(at, object, options);
        return { ...created, metadata: { ...created.metadata, creationTimestamp: made } };
      },
    };
    const store = new WorkerStore({ api: inAnotherTime, namespace, directory: folder });
    expect(await store.installationTime()).toBe(made);
    expect((await api.list(path)).items).toEqual([]);
  });

  test("changes what it was told to change, and keeps what somebody else wrote meanwhile", async () => {
    const store = storeAt("a");
    await store.create([worker]);
    const before = await objectOf("w-0");
    const edited = { ...before, spec: { ...before.spec!, ips: ["10.0.0.9"] } };
    await api.update(namedPath("Worker", { namespace, name: "w-0" }), edited);
    await store.update("w-0", (one) => ({ ...one, made: true }));
    expect(await store.read()).toEqual([{ ...worker, ips: ["10.0.0.9"], made: true }]);
  });

  test("drops the oldest of those that are gone, and keeps the one with the highest number", async () => {
    const store = storeAt("a");
    await store.create(["w-0", "w-1", "w-2"].map((name) => ({ ...worker, name })));
    for (const name of ["w-0", "w-1"]) {
      const object = await objectOf(name);
      const removed = new Date(Date.now() - 30 * 24 * 3_600_000).toISOString();
      await api.update(namedPath("Worker", { namespace, name }), { ...object, spec: { ...object.spec!, removed } });
    }
    await storeAt("b").read();
    await store.read();
    await store.forget("w-2");
    const left = (await api.list(collectionPath("Worker", namespace))).items.map(({ metadata }) => metadata?.name);
    expect(left).toEqual(["w-2"]);
  });

  test.each([
    ["the file of commands", "commands.json", 0o602],
    ["its directory", "", 0o707],
  ])("refuses commands when others may write to %s", async (_, name, mode) => {
    await storeAt("a").create([worker]);
    chmodSync(join(folder, "a", name), mode);
    await expect(storeAt("a").read()).rejects.toMatchObject({ code: "DB_RECORD_UNTRUSTED" });
  });
});

describe("what was remembered before there were Workers", () => {
  const lines: string[] = [];
  const take = (directory: string) => {
    lines.length = 0;
    return takeOver({ api, namespace, store: storeAt(directory), say: (line) => lines.push(line) });
  };

  test("of a state directory is taken over once, with its used numbers", async () => {
    writeFileSync(join(folder, "workers.json"), JSON.stringify({ workers: [worker], numbers: { w: 5 } }));
    await take(".");
    expect(lines).toEqual([
      expect.stringContaining("w-0 is taken over"),
      expect.stringContaining("its workers are Worker objects now"),
    ]);
    expect(existsSync(join(folder, "workers.json.taken-over"))).toBe(true);
    expect(await storeAt(".").read()).toEqual([worker]);
    expect(await storeAt("b").numbers()).toEqual(new Map([["w", 5]]));
    await take(".");
    expect(lines).toEqual([]);
  });

  test("of a second directory leaves the workers that are there as they are", async () => {
    await storeAt("a").create([{ ...worker, zone: "a" }]);
    writeFileSync(join(folder, "workers.json"), JSON.stringify({ workers: [worker], numbers: {} }));
    await take(".");
    expect(lines[0]).toContain("w-0 is a Worker already");
    expect((await storeAt("a").read()).map(({ zone }) => zone)).toEqual(["a"]);
  });

  test.each(['{"workers": [{"name": "../x"}]}', "{"])("is refused and left when it is broken: %s", async (text) => {
    writeFileSync(join(folder, "workers.json"), text);
    await expect(take(".")).rejects.toThrow("cannot be used");
    expect(readFileSync(join(folder, "workers.json"), "utf8")).toBe(text);
    expect(await storeAt(".").read()).toEqual([]);
  });

  const publish = (text: string) => {
    const map: ConfigMap = {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "drawbridge-workers", namespace } },
      data: { "workers.yaml": text },
    };
    return api.create(collectionPath("ConfigMap", namespace), map);
  };

  test("of a published inventory is taken over, and the ConfigMap deleted", async () => {
    await publish("pool: c/p\nworkers: [{name: w-7, notBefore: '2031-01-01T00:00:00Z', ips: [10.0.0.7]}]\n");
    await take(".");
    const [taken] = await storeAt(".").read();
    expect(taken).toMatchObject({ name: "w-7", pool: "c/p", ips: ["10.0.0.7"], deadline: "2031-01-01T02:00:00.000Z" });
    expect((await api.list(collectionPath("ConfigMap", namespace))).items).toEqual([]);
  });

  test("of a published inventory that is broken is refused and left", async () => {
    await publish("pool: x\n");
    await expect(take(".")).rejects.toThrow("pool must be namespace/name");
    expect((await api.list(collectionPath("ConfigMap", namespace))).items).toHaveLength(1);
  });
});
