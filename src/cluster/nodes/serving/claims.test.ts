import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectoryApi } from "../controller/directory.js";
import { configMapInventory, directoryInventory, readInventory } from "../csr/inventory.js";
import { type ClaimStore, claimsInConfigMap, claimsInFile, withClaims, writeClaims } from "./recorder.js";

const at = Date.parse("2031-01-01T00:00:00Z");
const pool = "clusters/workers";

test("the newest claim of each worker is kept, and the newest of those without a name", () => {
  const claims = withClaims(
    new Map(),
    [
      { pool, at },
      { pool, at: at + 2_000 },
      { pool, worker: "w-1", at: at + 1_000 },
      { pool, worker: "w-1", at },
      { pool: "clusters/others", at },
    ],
    at,
  );
  expect(readInventory([{ where: "it", text: writeClaims(claims) }]).claims).toEqual([
    { pool: "clusters/others", at },
    { pool, at: at + 2_000 },
    { pool, worker: "w-1", at: at + 1_000 },
  ]);
});

test("claims older than a week are dropped", () => {
  const claims = withClaims(new Map(), [{ pool, at }], at);
  expect(withClaims(claims, [], at + 7 * 24 * 3_600_000).size).toBe(1);
  expect(withClaims(claims, [], at + 7 * 24 * 3_600_000 + 1).size).toBe(0);
});

test("the newest ten thousand claims are kept", () => {
  const many = Array.from({ length: 10_001 }, (_, i) => ({ pool, worker: `w-${i}`, at: at + i }));
  const claims = [...withClaims(new Map(), many, at).values()];
  expect([claims.length, claims.some(({ worker }) => worker === "w-0")]).toEqual([10_000, false]);
});

describe("a store of claims", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "drawbridge-claims-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const twice = async (store: ClaimStore) => {
    await store([{ pool, worker: "w-1", at }], at);
    await store([{ pool, worker: "w-2", at: at + 1_000 }], at);
  };
  const both = [
    { pool, worker: "w-1", at },
    { pool, worker: "w-2", at: at + 1_000 },
  ];

  test("in a file is read by the approver", async () => {
    await twice(claimsInFile(join(dir, "claims.yaml")));
    expect((await directoryInventory(dir)()).claims).toEqual(both);
    expect(statSync(join(dir, "claims.yaml")).mode & 0o777).toBe(0o600);
  });

  test("in a ConfigMap is read by the approver", async () => {
    const api = createDirectoryApi({ directory: dir });
    await twice(claimsInConfigMap(api, { namespace: "drawbridge", name: "claims" }));
    expect((await configMapInventory(api, "drawbridge")()).claims).toEqual(both);
    expect(readFileSync(join(dir, "configmap_drawbridge_claims.yaml"), "utf8")).toContain(
      'drawbridge/inventory: "true"',
    );
  });

  test("replaces claims that cannot be read", async () => {
    const file = join(dir, "claims.yaml");
    for (const broken of ["[", "null", "claims: 1", "- 1"]) {
      writeFileSync(file, broken);
      await claimsInFile(file)([{ pool, at }], at);
      expect((await directoryInventory(dir)()).claims).toEqual([{ pool, at }]);
    }
  });

  test("says what is wrong with a file that cannot be written", async () => {
    await expect(claimsInFile(join(dir, "none", "claims.yaml"))([{ pool, at }], at)).rejects.toMatchObject({
      code: "DB_IGNITION_AUDIT",
    });
  });
});
