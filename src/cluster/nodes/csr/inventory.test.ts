import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOrUpdate } from "../../kube/objects.js";
import { createMemoryApi } from "../testing/memory-api.js";
import {
  configMapInventory,
  directoryInventory,
  INVENTORY_LABEL,
  readInventory,
  requireInventory,
} from "./inventory.js";
import { readMemory, updatedRecord, writeMemory } from "./memory.js";
import { Networks, plainAddress, UNUSABLE_NETWORKS } from "./names.js";

const read = (...texts: readonly string[]) =>
  readInventory(texts.map((text, index) => ({ where: `file ${index}`, text })));

const good = `pool: clusters/workers
replicas: 2
workers:
- name: w0
  dnsNames: [w0.example]
  ips: [10.0.0.10, "fd00:0:0::1"]
  notBefore: "2031-01-01T00:00:00Z"
- name: w1
  notBefore: 2031-01-01T00:00:00Z
  deadline: 2031-01-01T08:00:00+01:00
  joined: true
claims:
- {worker: w0, at: "2031-01-01T00:05:00Z"}
- {at: "2031-01-01T00:06:00Z"}
`;

describe("an inventory", () => {
  test("lists workers with their names, addresses and time", () => {
    const { claims, pools, workers } = read(good);
    expect([...workers.values()]).toEqual([
      {
        name: "w0",
        pool: "clusters/workers",
        dnsNames: ["w0.example"],
        ips: ["10.0.0.10", "fd00::1"],
        notBefore: Date.parse("2031-01-01T00:00:00Z"),
        deadline: Date.parse("2031-01-01T02:00:00Z"),
        joined: false,
      },
      {
        name: "w1",
        pool: "clusters/workers",
        dnsNames: [],
        ips: [],
        notBefore: Date.parse("2031-01-01T00:00:00Z"),
        deadline: Date.parse("2031-01-01T07:00:00Z"),
        joined: true,
      },
    ]);
    expect([...pools]).toEqual([["clusters/workers", { replicas: 2, workers: 2 }]]);
    expect(claims).toEqual([
      { pool: "clusters/workers", worker: "w0", at: Date.parse("2031-01-01T00:05:00Z") },
      { pool: "clusters/workers", at: Date.parse("2031-01-01T00:06:00Z") },
    ]);
  });

  test("may be spread over files and documents; the smallest number of replicas counts", () => {
    const more = "pool: clusters/workers\nreplicas: 5\nworkers: [{name: w2, notBefore: 2031-01-01T00:00:00Z}]\n";
    const { pools, workers } = read(good, `${more}---\npool: clusters/other\n`);
    expect([...workers.keys()]).toEqual(["w0", "w1", "w2"]);
    expect([...pools]).toEqual([
      ["clusters/workers", { replicas: 2, workers: 3 }],
      ["clusters/other", { replicas: undefined, workers: 0 }],
    ]);
    expect(read().workers.size).toBe(0);
  });

  const one = (worker: string) => `pool: a/b\nworkers:\n- ${worker}\n`;
  test.each([
    ["workers: []", "pool must be namespace/name"],
    ["pool: a", "pool must be namespace/name"],
    ["pool: a/b\nreplicas: -1", "replicas must be a whole number"],
    ["pool: a/b\nworker: []", "unknown key worker;"],
    ["pool: a/b\nworkers: {}", "workers must be a list"],
    ["- a", "the document is not an object"],
    ["pool: [", "is not YAML"],
    [one("w0"), "a worker is not an object"],
    [one("{name: W0, notBefore: 2031-01-01T00:00:00Z}"), 'worker "W0" is not a node name'],
    [one('{name: "*", notBefore: 2031-01-01T00:00:00Z}'), "is not a node name"],
    [one("{name: w0}"), "notBefore of worker w0 is missing"],
    [one("{name: w0, notBefore: today}"), "notBefore of worker w0 must be a time"],
    [one("{name: w0, notBefore: 2031-01-01T00:00:00Z, deadline: 2031-01-01T00:00:00Z}"), "is not after notBefore"],
    [one("{name: w0, notBefore: 2031-01-01T00:00:00Z, ips: [10.0.0]}"), '"10.0.0" is not an address'],
    [one("{name: w0, notBefore: 2031-01-01T00:00:00Z, ips: 10.0.0.1}"), "ips of worker w0 must be a list"],
    [one('{name: w0, notBefore: 2031-01-01T00:00:00Z, dnsNames: ["*.x"]}'), '"*.x" is not a plain DNS name'],
    [one("{name: w0, notBefore: 2031-01-01T00:00:00Z, joined: yes}"), "joined of worker w0 must be true or false"],
    [one("{name: w0, notbefore: 2031-01-01T00:00:00Z}"), "unknown key notbefore"],
    ["pool: a/b\nclaims: [{worker: w0}]", "a claim has no time"],
  ])("is refused as a whole: %j", (text, message) => {
    expect(() => read(good, text)).toThrow(`file 1 cannot be used: `);
    expect(() => read(good, text)).toThrow(message);
  });

  test("names nobody twice, in no two places", () => {
    expect(() => read(good, good)).toThrow("file 1 cannot be used: worker w0 is listed twice");
  });
});

test("an inventory in ConfigMaps is read again when its text has changed, and not otherwise", async () => {
  const api = createMemoryApi();
  const source = configMapInventory(api, "ns");
  const metadata = { name: "claims", namespace: "ns", labels: { [INVENTORY_LABEL]: "true" } };
  const write = async (worker: string) => {
    const text = `pool: a/b\nclaims: [{worker: ${worker}, at: "2031-01-01T00:00:00Z"}]\n`;
    const [before] = (await api.list("/api/v1/namespaces/ns/configmaps")).items;
    await createOrUpdate(api, "ConfigMap", { ...(before ?? { metadata }), data: { claims: text } });
  };
  await write("w-1");
  const before = await source();
  expect(before.claims.map(({ worker }) => worker)).toEqual(["w-1"]);
  expect(await source()).toBe(before);
  await write("w-2");
  expect((await source()).claims.map(({ worker }) => worker)).toEqual(["w-2"]);
  api.close();
});

describe("networks", () => {
  test("contain addresses in whatever spelling", () => {
    const networks = new Networks(["10.0.0.0/24", "fd00::/64"]);
    const inside = (text: string) => networks.has(plainAddress(text)!);
    expect(["10.0.0.255", "::ffff:10.0.0.1", "fd00:0::1"].map(inside)).toEqual([true, true, true]);
    expect(["10.0.1.0", "fd01::1"].map(inside)).toEqual([false, false]);
    expect(
      ["127.0.0.1", "::1", "169.254.0.1", "fe80::1", "0.0.0.0", "255.255.255.255", "ff02::1", "::"].every((ip) =>
        UNUSABLE_NETWORKS.has(ip),
      ),
    ).toBe(true);
    expect(
      ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1", "2001:db8::1"].some((ip) => UNUSABLE_NETWORKS.has(ip)),
    ).toBe(false);
  });

  test.each(["10.0.0.0", "10.0.0.0/33", "10.0.0.0/8/8", "x/8", "fe80::%eth0/64", "10.0.0.0/-1"])(
    "cannot be %j",
    (text) => {
      expect(() => new Networks([text])).toThrow("is not a network");
    },
  );

  test.each(["", "10.0.0", "010.0.0.1", "fe80::1%eth0", "host"])("%j is no address", (text) => {
    expect(plainAddress(text)).toBeUndefined();
  });
});

describe("the memory of a node", () => {
  const client = { request: "csr-x", at: 1 };
  const here = { hasNode: true, isExpected: false, now: 10 };
  const week = 7 * 24 * 3_600_000;

  test.each([
    ["a machine that shows up", { client }, here, { client, joinedAt: 10 }],
    ["a machine that has joined", { client, joinedAt: 5 }, here, undefined],
    ["a machine somebody else let in", {}, here, undefined],
    ["a machine that is expected", { client }, { ...here, hasNode: false, isExpected: true }, undefined],
    [
      "a node that is gone",
      { client, joinedAt: 5 },
      { ...here, hasNode: false },
      { client, joinedAt: 5, goneSince: 10 },
    ],
    ["a node that is back", { client, joinedAt: 5, goneSince: 7 }, here, { client, joinedAt: 5 }],
    ["a node gone for a week", { client, goneSince: 7 }, { ...here, hasNode: false, now: 7 + week }, undefined],
    ["a node gone for longer", { client, goneSince: 7 }, { ...here, hasNode: false, now: 8 + week }, "forget"],
  ])("%s", (_, record, now, expected) => {
    const change = updatedRecord({ pool: "a/b", ...record }, now);
    expect(change).toEqual(typeof expected === "object" ? { pool: "a/b", ...expected } : expected);
  });
});

describe("the memory", () => {
  test("comes back as it was, one line a node", () => {
    const memory = new Map([
      ["w1", { pool: "a/b", joinedAt: 5 }],
      [
        "w0",
        { pool: "a/b", client: { request: "csr-x", at: 3 }, serving: { request: "csr-y", at: 4, names: ["DNS:w0"] } },
      ],
    ]);
    const written = writeMemory(memory);
    expect(Object.keys(written)).toEqual(["w0", "w1"]);
    expect(new Map([...readMemory(written)].reverse())).toEqual(memory);
    expect(readMemory(undefined).size).toBe(0);
  });

  test.each(["", "{", "{}", "null"])("of %j is not guessed at", (text) =>
    expect(() => readMemory({ w0: text })).toThrow(),
  );
});

describe("a directory with an inventory", () => {
  function directory(): string {
    const made = mkdtempSync(join(tmpdir(), "drawbridge-inventory-"));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return join(made, "rack");
  }

  test("must be there at the start", async () => {
    const rack = directory();
    const remedy = "make it, or leave --inventory out to go by the Workers of the namespace";
    await expect(requireInventory(rack)).rejects.toThrow(`there is no directory ${rack}: ${remedy}`);
    writeFileSync(rack, good);
    await expect(requireInventory(rack)).rejects.toThrow(`${rack} is not a directory: ${remedy}`);
    rmSync(rack);
    mkdirSync(rack);
    await requireInventory(rack);
  });

  test("counts as it was last read while it is gone, and says so", async () => {
    const rack = directory();
    const source = directoryInventory(rack);
    await expect(source()).rejects.toThrow("the inventory cannot be read");
    mkdirSync(rack);
    writeFileSync(join(rack, "a.yaml"), good);
    expect((await source()).outdated).toBeUndefined();
    rmSync(rack, { recursive: true });
    const kept = await source();
    expect([...kept.workers.keys()]).toEqual(["w0", "w1"]);
    expect(kept.outdated).toContain("the inventory cannot be read");
    expect(kept.outdated).toContain("who was expected before still is, and nobody else");
    mkdirSync(rack);
    expect([...(await source()).workers.keys()]).toEqual([]);
  });

  test("is refused, and not taken for what it was, when a file in it is broken", async () => {
    const rack = directory();
    mkdirSync(rack);
    const source = directoryInventory(rack);
    writeFileSync(join(rack, "a.yaml"), good);
    await source();
    writeFileSync(join(rack, "a.yaml"), "pool: [");
    await expect(source()).rejects.toThrow("a.yaml cannot be used");
  });
});
