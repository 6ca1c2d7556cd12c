/** The demo of pools and nodes, as somebody runs it who has nothing but Node, and as somebody who has a kube-apiserver. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { equipped } from "../support/lab/equipment.js";
import { run } from "../support/lab/run.js";

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const TMPDIR = mkdtempSync(join(tmpdir(), "db-nodes-demo-"));
afterAll(() => rmSync(TMPDIR, { recursive: true }));

const hasPeers = await equipped({ controlPlane: true, controllers: true });

interface Told {
  readonly stderr: string;
  readonly caller: string;
  readonly shown: Readonly<Record<string, string>>;
  readonly figures: Readonly<Record<string, object | undefined>>;
}

/** Two machines become nodes, forged requests do not, and nothing is left behind. */
async function played(flags: readonly string[], env: Record<string, string> = {}): Promise<Told> {
  const demo = [inRepository("scripts/with-tsx.mjs"), inRepository("demo/main.ts"), "--nodes", "--output=json"];
  const { code, stderr, stdout } = await run([process.execPath, ...demo, ...flags], { env: { ...env, TMPDIR } });
  expect([code, stderr]).toEqual([0, expect.stringContaining("PASSED: 8/8 steps")]);
  expect(stderr).toContain("denied: the subject asks for membership in system:masters");
  expect(stdout + stderr).not.toMatch(/Bearer|PRIVATE KEY/);
  expect(readdirSync(TMPDIR).filter((name) => !name.startsWith("tsx-"))).toEqual([]);
  const { caller, steps } = JSON.parse(stdout) as {
    caller: string;
    steps: { step: string; shown: string; figures?: object }[];
  };
  return {
    ...{ stderr, caller },
    shown: Object.fromEntries(steps.map(({ step, shown }) => [step, shown])),
    figures: Object.fromEntries(steps.map(({ step, figures }) => [step, figures])),
  };
}

test.skipIf(!hasPeers)("machines become nodes of a real API server, with certificates of its signer", async () => {
  const { caller, figures, shown } = await played([]);
  expect(caller).toMatch(/^two simulated nodes, kube-apiserver v1\.\d+/);
  expect(shown.cluster).toMatch(/^etcd, kube-apiserver v1\.\d+\.\d+ and kube-controller-manager's signer are up/);
  expect(figures.joining).toEqual({ fetched: 2, approved: 4, nodes: 2 });
  expect(shown.joining).toContain("signed by kube-controller-manager");
});

test("without a kube-apiserver it says so, and plays in a directory", async () => {
  const { caller, figures, shown, stderr } = await played([], { XDG_CACHE_HOME: join(TMPDIR, "empty") });
  expect(caller).toBe("two simulated nodes");
  expect(stderr).toMatch(/no real API server: .*kube-controller-manager missing: run npm run peers/);
  expect(shown.cluster).toContain("a directory of YAML objects");
  expect(figures.joining).toEqual({ fetched: 2, approved: 4, nodes: 2 });
});
