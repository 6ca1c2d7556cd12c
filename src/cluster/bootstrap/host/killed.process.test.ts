/** `up` and `teardown` killed after every single change they make, and what the next command finds then. */
import { afterEach, expect, test } from "vitest";
import type { DrawbridgeError } from "../../../base/errors/error.js";
import { TestBridge } from "./testing/bridge.js";
import { Fuse } from "./testing/fuse.js";
import type { UpOptions } from "./up.js";

const open: TestBridge[] = [];
afterEach(async () => {
  for (const bridge of open.splice(0)) await bridge.close();
});

interface Case {
  readonly topology: "kubeadm" | "bare";
  readonly options: Partial<UpOptions>;
}

const bareWishes = {
  for: "bare",
  kubeconfig: "/admin.conf",
  applyCommand: "restart",
  restoreCommand: "restore",
} as const;
const cases: readonly Case[] = [
  { topology: "kubeadm", options: { apply: true, configDirectory: "/srv/new/drawbridge" } },
  { topology: "bare", options: { ...bareWishes, serverForm: "process" } },
  { topology: "bare", options: { ...bareWishes, serverForm: "systemd" } },
];

/** Each case takes every third change; a write is three or four of them, so that together the cases take all kinds. */
const share = (each: Case, changes: number): number[] =>
  Array.from({ length: changes }, (_, index) => index + 1).filter((at) => at % 3 === cases.indexOf(each));

async function prepare({ topology }: Case): Promise<TestBridge> {
  const bridge = await TestBridge.prepare(topology);
  bridge.host.answers = ([program, , command], env) => {
    if (program !== "sh") return undefined;
    bridge.restartApiServer(...(command === "restart" ? [env.EGRESS_FLAG ?? ""] : []));
    return { code: 0, stdout: "", stderr: "" };
  };
  open.push(bridge);
  return bridge;
}

/** Everything that could be left somewhere. */
async function traces({ host, cluster }: TestBridge): Promise<object> {
  const processes = (await host.processes()).map(({ argv }) => argv);
  return { tree: host.tree(), objects: [...cluster.objects.keys()].sort(), processes };
}

const hasFlag = async ({ host }: TestBridge): Promise<boolean> =>
  (await host.processes()).some(({ argv }) => argv.some((word) => word.startsWith("--egress-selector-config-file=")));

/** How many changes an undisturbed run makes. */
async function changesOf(each: Case): Promise<{ up: number; teardown: number }> {
  const bridge = await prepare(each);
  const [up, teardown] = [new Fuse(), new Fuse()];
  await bridge.up(each.options, up);
  await bridge.teardown({}, teardown);
  return { up: up.changes, teardown: teardown.changes };
}

test.each(cases)(
  "up for $topology, $options.serverForm, killed anywhere: the next up completes it",
  async (each) => {
    const { up } = await changesOf(each);
    expect(up).toBeGreaterThan(25);
    for (const at of share(each, up)) {
      const bridge = await prepare(each);
      const before = await traces(bridge);
      await bridge.up(each.options, new Fuse(at)).then(
        // The last change of all is followed by nothing that could fail.
        () => expect(at).toBe(up),
        () => undefined,
      );
      await bridge.up(each.options);
      const wrong = (await bridge.status()).lines.filter(({ ok, name }) => !ok && name !== "socket");
      expect({ at, wrong }).toEqual({ at, wrong: [] });
      expect({ at, exit: (await bridge.teardown()).exitCode }).toEqual({ at, exit: 0 });
      expect({ at, ...(await traces(bridge)) }).toEqual({ at, ...before });
      await open.pop()?.close();
    }
  },
  120_000,
);

test.each(cases)(
  "up for $topology, $options.serverForm, killed anywhere: teardown leaves nothing",
  async (each) => {
    const { up } = await changesOf(each);
    for (const at of share(each, up)) {
      const bridge = await prepare(each);
      const before = await traces(bridge);
      await bridge.up(each.options, new Fuse(at)).catch(() => undefined);
      expect({ at, exit: (await bridge.teardown({ kubeconfig: "/admin.conf" })).exitCode }).toEqual({ at, exit: 0 });
      expect({ at, ...(await traces(bridge)) }).toEqual({ at, ...before });
      await open.pop()?.close();
    }
  },
  120_000,
);

test.each(cases)(
  "teardown for $topology, $options.serverForm, killed anywhere: the next finishes it",
  async (each) => {
    const { teardown } = await changesOf(each);
    expect(teardown).toBeGreaterThan(8);
    for (const at of share(each, teardown)) {
      const bridge = await prepare(each);
      const before = await traces(bridge);
      await bridge.up(each.options);
      await bridge.teardown({}, new Fuse(at)).catch(() => undefined);
      // Whatever happened: who still uses the bridge still has it.
      if (await hasFlag(bridge)) expect({ at, hasAgents: bridge.cluster.hasAgents }).toEqual({ at, hasAgents: true });
      expect({ at, exit: (await bridge.teardown({ kubeconfig: "/admin.conf" })).exitCode }).toEqual({ at, exit: 0 });
      expect({ at, ...(await traces(bridge)) }).toEqual({ at, ...before });
      await open.pop()?.close();
    }
  },
  120_000,
);

/** Whose how-manyeth file cannot be written, but who lives on. */
class FullDisk extends Fuse {
  readonly #at: number;
  #opened = 0;

  constructor(at: number) {
    super();
    this.#at = at;
  }

  get wasFull(): boolean {
    return this.#opened >= this.#at;
  }

  override async change<T>(make: () => T | Promise<T>, what: string): Promise<T> {
    if (what === "open" && ++this.#opened === this.#at) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    return make();
  }
}

test("a disk that is full at any file is reported in one sentence, and up completes once there is space", async () => {
  const [kubeadm] = cases;
  let files = 0;
  for (let at = 1; ; at++) {
    const bridge = await prepare(kubeadm!);
    const disk = new FullDisk(at);
    const failure = await bridge.up(kubeadm!.options, disk).then(
      () => undefined,
      (reason: DrawbridgeError) => reason,
    );
    if (!disk.wasFull) break;
    files++;
    expect(["DB_HOST_FILE", "DB_BRIDGE_RECORD"]).toContain(failure?.code);
    expect(failure?.message).toMatch(/^[^\n]+ cannot be written: the disk is full\.$/);
    await bridge.up(kubeadm!.options);
    await open.pop()?.close();
  }
  expect(files).toBeGreaterThan(8);
}, 60_000);
