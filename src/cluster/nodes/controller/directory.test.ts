import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { LeaderElection } from "../../kube/leader.js";
import { ListWatch } from "../../kube/list-watch.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { ConfigMap, Metadata, Secret } from "../objects.js";
import type { NodePool } from "../pool/node-pool.js";
import { createDirectoryApi } from "./directory.js";

const maps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/default/secrets";
const pools = "/apis/hypershift.openshift.io/v1beta1/namespaces/default/nodepools";

let directory: string;
let api: KubeApi;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "drawbridge-directory-"));
  api = createDirectoryApi({ directory, pollMs: 5 });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data,
});

function write(file: string, text: string): void {
  writeFileSync(join(directory, file), text);
}

describe("a directory of objects", () => {
  test("has what people wrote, several in a file, and gives it what an API server would", async () => {
    write(
      "a.yaml",
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\n",
    );
    const { items } = await api.list<ConfigMap>(maps);
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(["a"]);
    expect(items[0]?.metadata).toMatchObject({ namespace: "default", uid: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect((await api.get(`${secrets}/s`)).metadata?.resourceVersion).toMatch(/^[0-9a-f]{32}$/);
    await expect(api.get(`${maps}/b`)).rejects.toMatchObject({ status: 404 });
  });

  test("takes a Secret's plain texts as an API server does", async () => {
    write("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: text}\ndata: {b: Yg==}\n");
    expect(await api.get(`${secrets}/s`)).toMatchObject({ data: { a: "dGV4dA==", b: "Yg==" } });
    expect(await api.get(`${secrets}/s`)).not.toHaveProperty("stringData");
  });

  test("changes one document of a file and leaves the others with their comments", async () => {
    write(
      "a.yaml",
      "# ours\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: one} # kept\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
    );
    const b = await api.get<ConfigMap>(`${maps}/b`);
    await api.update(`${maps}/b`, { ...b, data: { k: "two" } });
    const text = readFileSync(join(directory, "a.yaml"), "utf8");
    expect(text).toContain("# kept");
    expect((await api.get<ConfigMap>(`${maps}/b`)).data).toEqual({ k: "two" });
    await api.delete(`${maps}/a`);
    expect((await api.list(maps)).items.length).toBe(1);
    await api.delete(`${maps}/b`);
    expect(readdirSync(directory)).toEqual([]);
  });

  test("refuses to create what exists, and to change or delete what changed meanwhile", async () => {
    const made = await api.create(maps, map("a"));
    await expect(api.create(maps, map("a"))).rejects.toMatchObject({ status: 409, reason: "AlreadyExists" });
    await api.update(`${maps}/a`, { ...made, data: { k: "1" } } as ConfigMap);
    await expect(api.update(`${maps}/a`, made)).rejects.toMatchObject({ status: 409, reason: "Conflict" });
    const resourceVersion = made.metadata?.resourceVersion ?? "";
    await expect(api.delete(`${maps}/a`, { resourceVersion })).rejects.toMatchObject({ status: 409 });
    expect((await api.get<ConfigMap>(`${maps}/a`)).data).toEqual({ k: "1" });
  });

  test("notices an edit by hand as a change", async () => {
    const made = await api.create(maps, map("a", { k: "1" }));
    const file = join(directory, "configmap_default_a.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace('"1"', '"2"'));
    // Some file systems keep time in steps of milliseconds, and no hand is as fast as this one.
    const later = new Date(Date.now() + 1000);
    utimesSync(file, later, later);
    await expect(api.update(`${maps}/a`, made)).rejects.toMatchObject({ status: 409 });
  });

  test("lets exactly one of many writers of the same version through", async () => {
    const made = await api.create<ConfigMap>(maps, map("a"));
    const another = createDirectoryApi({ directory });
    const attempts = Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? api : another).update(`${maps}/a`, { ...made, data: { by: String(i) } }),
    );
    const results = await Promise.allSettled(attempts);
    expect(results.filter(({ status }) => status === "fulfilled").length).toBe(1);
  });

  test("takes over the lock of a process that was killed", async () => {
    write(".lock", "4194305\n");
    await api.create(maps, map("a"));
    expect(readdirSync(directory)).toEqual(["configmap_default_a.yaml"]);
  });

  test("keeps Secrets from other users", async () => {
    await api.create<Secret>(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "s" },
      data: { a: "YQ==" },
    });
    expect(statSync(join(directory, "secret_default_s.yaml")).mode & 0o777).toBe(0o600);
  });

  test("holds an object with a finalizer until that is gone", async () => {
    const pool: NodePool = {
      kind: "NodePool",
      apiVersion: "hypershift.openshift.io/v1beta1",
      metadata: { name: "p", finalizers: ["f"] },
    };
    await api.create(pools, pool);
    await api.delete(`${pools}/p`);
    const held = await api.get<NodePool>(`${pools}/p`);
    expect(held.metadata?.deletionTimestamp).toBeDefined();
    const metadata: Metadata = { ...held.metadata, finalizers: [] };
    await api.update(`${pools}/p`, { ...held, metadata });
    await expect(api.get(`${pools}/p`)).rejects.toMatchObject({ status: 404 });
  });

  test("writes a pool's status through its own path only", async () => {
    const pool: NodePool = {
      kind: "NodePool",
      apiVersion: "hypershift.openshift.io/v1beta1",
      metadata: { name: "p" },
      spec: { arch: "amd64" },
    };
    const made = await api.create<NodePool>(pools, { ...pool, status: { version: "0" } });
    expect(made.status).toBeUndefined();
    const reported = await api.update(`${pools}/p/status`, { ...made, spec: { arch: "x" }, status: { version: "1" } });
    expect(reported).toMatchObject({ spec: { arch: "amd64" }, status: { version: "1" } });
    const changed = await api.update(`${pools}/p`, { ...reported, spec: { arch: "arm64" }, status: { version: "2" } });
    expect(changed).toMatchObject({ spec: { arch: "arm64" }, status: { version: "1" } });
  });

  test("applies: creates, or changes what is named and keeps the rest", async () => {
    await api.apply(
      `${maps}/a`,
      { ...map("a", { k: "1" }), metadata: { name: "a", labels: { x: "1" } } } as ConfigMap,
      { fieldManager: "t" },
    );
    await api.apply(
      `${maps}/a`,
      { ...map("a", { k: "2" }), metadata: { name: "a", labels: { y: "2" } } } as ConfigMap,
      { fieldManager: "t" },
    );
    expect(await api.get(`${maps}/a`)).toMatchObject({ data: { k: "2" }, metadata: { labels: { x: "1", y: "2" } } });
  });

  test.each([
    ["what is not YAML", "a: [", "cannot be used"],
    ["an object without a name", "apiVersion: v1\nkind: Secret\n", "metadata.name"],
    ["an object that stands elsewhere too", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "as well"],
  ])("acts on nothing when there is %s", async (_, text, sentence) => {
    write("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    write("b.yaml", text);
    await expect(api.list(maps)).rejects.toMatchObject({
      code: "DB_NODEPOOL_DIRECTORY",
      message: expect.stringContaining(sentence),
    });
  });

  test("says that the directory does not exist", async () => {
    const absent = createDirectoryApi({ directory: join(directory, "absent") });
    const refusal = {
      code: "DB_NODEPOOL_DIRECTORY",
      message: expect.stringMatching(/absent cannot be used: it does not exist/),
    };
    await expect(absent.list(maps)).rejects.toMatchObject(refusal);
    await expect(absent.create(maps, map("a"))).rejects.toMatchObject(refusal);
  });

  test.each(["../x", "A", "a/b", ".x"])("takes no name that could leave the directory: %s", async (name) => {
    await expect(api.create(maps, map(name))).rejects.toMatchObject({
      status: expect.toSatisfy((s) => s === 404 || s === 422),
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  test("tells a watch what was added, changed and removed, by us or by hand", async () => {
    const watched = new ListWatch<ConfigMap>({ api, path: maps });
    watched.start();
    try {
      const names = () =>
        [...watched.items.values()].map(({ data, metadata }) => `${metadata?.name} ${data?.k}`).sort();
      await eventually(() => expect(watched.synced).toBe(true));
      await api.create(maps, map("a", { k: "1" }));
      write("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: '1'}\n");
      await eventually(() => expect(names()).toEqual(["a 1", "b 1"]));
      write("b.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: '22'}\n");
      await api.delete(`${maps}/a`);
      await eventually(() => expect(names()).toEqual(["b 22"]));
    } finally {
      await watched.stop();
    }
  });

  test("elects one leader of two", async () => {
    const elections = ["one", "two"].map(
      (identity) => new LeaderElection({ api, namespace: "default", name: "l", identity }),
    );
    for (const election of elections) election.start();
    try {
      await eventually(() => expect(elections.filter(({ leading }) => leading).length).toBe(1));
      const lease = await api.get<KubeObject & { spec: { holderIdentity: string } }>(
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
      );
      expect(["one", "two"]).toContain(lease.spec.holderIdentity);
    } finally {
      for (const election of elections) await election.stop();
    }
  });
});
