import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WorkerStore } from "./store.js";
import type { Worker } from "./worker.js";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-workers-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const worker: Worker = {
  ...{ name: "w-0", zone: "", pool: "c/p", provider: "command", hash: "h", ips: [], made: false, ownToken: false },
  ...{ createCommand: ["true"], deleteCommand: ["false"] },
  ...{ notBefore: "2031-01-01T00:00:00Z", deadline: "2031-01-01T02:00:00Z" },
  shape: { machineType: "", diskGb: "", subnet: "", image: "", imageProject: "", project: "" },
};

test("the store reads the workers that it wrote", async () => {
  const store = new WorkerStore(folder);
  await store.write([worker]);
  expect(await store.read()).toEqual([worker]);
});

test.each([
  ["the record", "workers.json", 0o602],
  ["its directory", "", 0o707],
])("the store refuses a record when others may write to %s", async (_, name, mode) => {
  const store = new WorkerStore(folder);
  await store.write([worker]);
  writeFileSync(join(folder, "workers.json"), JSON.stringify({ workers: [worker], numbers: {} }));
  chmodSync(join(folder, name), mode);
  await expect(store.read()).rejects.toMatchObject({ code: "DB_RECORD_UNTRUSTED" });
});
