/** A follower of a real admin port whose process ends and comes back, and of a stream that a test tells. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { PlayedRole } from "../observe/admin/testing/role.js";
import { startAdmin } from "../observe/admin.js";
import { AdminPort } from "./admin-port.js";
import { Follower } from "./follower.js";
import { snapshot, totals, tunnel, tunnelChange } from "./testing/samples.js";

const TOKEN = "a-token-of-this-test";
const wait = { timeout: 10_000 };

describe("a follower of a process", () => {
  let folder: string;
  let tokenFile: string;
  let role: PlayedRole;
  let http: RunningHttp;
  let stop: AbortController;
  let running: Promise<void>;
  let follower: Follower;

  const start = async (port = 0): Promise<void> => {
    role = new PlayedRole();
    const options = { ...role.parts, tokenFile, profiling: false };
    http = await startAdmin({ host: "127.0.0.1", port }, new MetricsRegistry(), options);
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-follower-"));
    tokenFile = join(folder, "token");
    writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
    await start();
    stop = new AbortController();
    follower = new Follower(new AdminPort({ url: new URL(`http://127.0.0.1:${http.port}`), token: TOKEN }));
    running = follower.run(stop.signal);
  });
  afterEach(async () => {
    stop.abort();
    await running;
    await http.close();
    rmSync(folder, { recursive: true });
  });

  test("has the state of the process and its changes", async () => {
    await expect.poll(() => follower.view?.facts.process.id, wait).toBe("s-1");
    role.open(3).bytesToTarget = 12;
    await expect.poll(() => follower.view?.tunnels.get(3)?.bytesToTarget, wait).toBe(12);
    role.list.clear();
    await expect.poll(() => follower.view?.tunnels.size, wait).toBe(0);
    expect(follower.problem).toBe("");
  });

  test("reports that the process is gone, and follows the next one at its address", async () => {
    role.open(1);
    await expect.poll(() => follower.view?.tunnels.size, wait).toBe(1);
    const { port } = http;
    const before = follower.view!.facts.process.instance;
    await http.close();
    await expect.poll(() => follower.problem, wait).not.toBe("");
    await start(port);
    role.open(2);
    await expect.poll(() => follower.view?.facts.process.instance, wait).not.toBe(before);
    await expect.poll(() => [...(follower.view?.tunnels.keys() ?? [])], wait).toEqual([2]);
    expect(follower.problem).toBe("");
  });

  test("reports that its token is no longer accepted", async () => {
    await expect.poll(() => follower.view, wait).toBeDefined();
    const { port } = http;
    await http.close();
    writeFileSync(tokenFile, "another");
    await start(port);
    await expect.poll(() => follower.problem, wait).toContain("answered 401");
  });
});

describe("the history of a follower", () => {
  const nobody = new AdminPort({ url: new URL("http://127.0.0.1:1"), token: "x" });
  const tell = (follower: Follower, name: string, data: object) => follower.take(name, JSON.stringify(data));
  const at = (bytes: number, more = {}) => totals({ bytesToTarget: bytes, dialsEstablished: 1, ...more });
  const process = (instance: string) => ({ ...snapshot().process, instance });

  test("has no zero rates while nothing is received, and no peak afterwards", () => {
    const follower = new Follower(nobody);
    tell(follower, "snapshot", snapshot({ totals: at(1000) }));
    follower.sample(1000);
    follower.problem = "it hung up";
    for (let second = 2; second <= 10; second++) follower.sample(second * 1000);
    tell(follower, "snapshot", snapshot({ totals: at(11_000) }));
    follower.sample(11_000);
    expect(follower.history.columns.toTarget).toEqual([1000]);
  });

  test("begins again with a restarted process, whatever its totals are", () => {
    const follower = new Follower(nobody);
    tell(follower, "snapshot", snapshot({ process: process("a"), totals: at(1000, { dialMsSum: 900 }) }));
    follower.sample(1000);
    tell(follower, "snapshot", snapshot({ process: process("b"), totals: at(90_000, { dialsEstablished: 4 }) }));
    follower.sample(2000);
    expect(follower.history.columns.toTarget).toEqual([]);
    follower.sample(3000);
    expect(follower.history.columns.toTarget).toEqual([0]);
    expect(follower.history.rates?.dialMs).toBeNull();
  });

  test("continues from the new snapshot after a loss", () => {
    const follower = new Follower(nobody);
    tell(follower, "snapshot", snapshot());
    tell(follower, "change", tunnelChange(tunnel(1), tunnel(2)));
    tell(follower, "snapshot", snapshot());
    tell(follower, "change", tunnelChange(tunnel(2)));
    expect([...follower.view!.tunnels.keys()]).toEqual([2]);
  });

  test("ends at once when the signal was aborted before", async () => {
    // A pause would not come to an end.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await new Follower(nobody).run(AbortSignal.abort());
    const stop = new AbortController();
    const running = new Follower({
      address: "nobody",
      follow: () => {
        stop.abort();
        return Promise.reject(new Error("no"));
      },
    } as unknown as AdminPort).run(stop.signal);
    await running;
    expect(vi.getTimerCount()).toBe(0);
  });
});
