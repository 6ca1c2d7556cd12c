/** Commands that bring workers in and out, on a directory of objects: no cluster, and nodes that the test plays. */

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { stringify } from "yaml";
import {
  clusterMap,
  makePool,
  namespace,
  PoolFixture,
  pullSecret,
} from "../../cluster/nodes/controller/testing/fixture.js";
import type { Node } from "../../cluster/nodes/objects.js";
import { NODES_PATH, nodePath } from "../../cluster/nodes/workers/node.js";
import { WorkerStore } from "../../cluster/nodes/workers/store.js";
import { drawbridge } from "../commands.js";
import { captureOutput } from "../testing/output.js";

const printed = captureOutput();
let fixture: PoolFixture;
let state: string;
let machines: string;
let access: string[];

beforeEach(() => {
  fixture = new PoolFixture();
  state = join(fixture.directory, ".workers");
  machines = join(fixture.directory, ".machines");
  access = [`--directory=${fixture.directory}`, `--namespace=${namespace}`, `--state=${state}`, "--timeout=30s"];
});

afterEach(async () => {
  await fixture.close();
});

async function putNode(name: string, status = "True"): Promise<void> {
  const node: Node = { apiVersion: "v1", kind: "Node", metadata: { name } };
  await fixture.api.create<Node>(NODES_PATH, node);
  const conditions = [{ type: "Ready", status, reason: "KubeletReady", message: "" }];
  // Whatever its version is: the controller labels it at the same time.
  await fixture.api.update<Node>(`${nodePath(name)}/status`, { ...node, status: { conditions } });
}

/** A machine becomes a node as soon as it is made. */
async function booting<T>(names: readonly string[], command: Promise<T>): Promise<T> {
  for (const name of names) {
    await vi.waitFor(() => expect(existsSync(`${machines}-${name}`)).toBe(true), { timeout: 20_000 });
    await putNode(name);
  }
  return command;
}

test("goes from a file to nodes, to more, to others, to fewer", async () => {
  fixture.start();
  const file = join(fixture.directory, ".pool.txt");
  const pool = makePool("workers", { nodeLabels: { tier: "front" } });
  writeFileSync(file, [clusterMap, pullSecret, pool].map((object) => stringify(object)).join("---\n"));
  const up = [
    ...["up", "--pool=workers", "--count=1", "-f", file, "--approve", "--pods=none", "--provider=command"],
    ...[`--create-command=cp {userdata} ${machines}-{name}`, `--delete-command=rm ${machines}-{name}`, ...access],
  ];
  expect(await drawbridge.run("drawbridge", ["workers", ...up, "--dry-run"])).toBe(0);
  expect([printed.stdout, existsSync(state)]).toEqual([
    `workers-0 would be made: cp ${state}/workers-0.ign ${machines}-workers-0\n`,
    false,
  ]);
  expect(await booting(["workers-0"], drawbridge.run("drawbridge", ["workers", ...up]))).toBe(0);
  expect(printed.stdout).toMatch(
    /workers-0 +yes +Ready +yes +- +current\nAll 1 workers of clusters\/workers are at work\.\n$/,
  );
  expect(printed.stderr).toContain("NodePool clusters/workers created\n");
  expect(printed.stderr).toContain("workers-0: its machine is made\n");

  printed.stdout = "";
  const scale = (count: number) =>
    drawbridge.run("drawbridge", ["workers", "scale", "--pool=workers", `--count=${count}`, "--approve", ...access]);
  expect(await booting(["workers-1"], scale(2))).toBe(0);
  expect(printed.stdout).toBe("workers-1 made\n");

  printed.stdout = "";
  const replace = ["replace", "workers-0", ...access];
  expect(await drawbridge.run("drawbridge", ["workers", ...replace, "--dry-run", "--output=json"])).toBe(0);
  expect(JSON.parse(printed.stdout)).toEqual({
    replaced: [{ old: "workers-0", fresh: "workers-2", state: "to be done" }],
    dryRun: true,
  });
  expect(await booting(["workers-2"], drawbridge.run("drawbridge", ["workers", ...replace, "--approve"]))).toBe(0);
  expect(existsSync(`${machines}-workers-0`)).toBe(false);

  printed.stdout = "";
  expect(await scale(1)).toBe(0);
  expect(await scale(1)).toBe(0);
  expect(printed.stdout).toBe("workers-2 removed\nThere are 1 workers already.\n");
  const store = new WorkerStore({ api: fixture.api, namespace, directory: state });
  expect(await store.numbers()).toEqual(new Map([["workers", 3]]));
}, 60_000);

test("verifies, and ends with 1 while something is missing", async () => {
  await fixture.addObjects(makePool());
  fixture.start();
  await vi.waitFor(async () => expect((await fixture.pool()).status?.version).toBe("4.18.0"), { timeout: 10_000 });
  expect(
    await drawbridge.run("drawbridge", ["workers", "create", "--pool=workers", "--count=2", ...access.slice(0, 3)]),
  ).toBe(0);
  await putNode("workers-0");
  await putNode("workers-1", "False");
  printed.stdout = "";
  const verify = ["verify", "--pool=workers", "--pods=none", ...access];
  expect(await drawbridge.run("drawbridge", ["workers", ...verify, "--timeout=1s"])).toBe(1);
  expect(printed.stdout).toContain("workers-1: its node is not Ready: KubeletReady\n  -> drawbridge workers doctor");
  expect(printed.stdout).toMatch(/1 thing is missing\.\n$/);
  expect(await drawbridge.run("drawbridge", ["workers", ...verify, "workers-0"])).toBe(0);
  expect(await drawbridge.run("drawbridge", ["workers", ...verify, "workers-9"])).toBe(1);
  expect(printed.stderr).toContain("there is no worker workers-9: there is workers-0, workers-1");
}, 30_000);

test("begins nothing that cannot be done", async () => {
  await fixture.addObjects(makePool());
  expect(
    await drawbridge.run("drawbridge", ["workers", "up", "--pool=workers", "--approve", ...access, "--timeout=1s"]),
  ).toBe(1);
  expect(printed.stderr).toContain("waiting for user data of pool workers: 1 s were not enough");
  expect(await drawbridge.run("drawbridge", ["workers", "up", "--pool=nobody", "--approve", ...access])).toBe(1);
  expect(printed.stderr).toContain("there is no pool clusters/nobody");
  expect(await drawbridge.run("drawbridge", ["workers", "scale", "--pool=workers", "--count=2", ...access])).toBe(1);
  expect(printed.stderr).toContain("there are no workers of clusters/workers called workers-...");
  expect(await drawbridge.run("drawbridge", ["workers", "replace", "workers-0", ...access])).toBe(1);
  expect(printed.stderr).toContain("there is no worker workers-0: none is recorded");
  expect(await drawbridge.run("drawbridge", ["workers", "verify", "--pool=workers", ...access])).toBe(1);
  expect(printed.stderr).toContain("clusters/workers has no workers: drawbridge workers up or create makes some");
  expect(
    await drawbridge.run("drawbridge", [
      "workers",
      "up",
      "--pool=workers",
      "-f",
      join(fixture.directory, "none"),
      "--approve",
      ...access,
    ]),
  ).toBe(1);
  expect(printed.stderr).toContain("none cannot be read");
  expect(existsSync(state)).toBe(false);
}, 30_000);
