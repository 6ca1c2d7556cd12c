import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import type { ChangeEvent, Overview, SnapshotEvent } from "../../observe/admin/contract.js";
import { type FactProvider, PolledSource, type ProvidedFacts, startOverview } from "./overview.js";

/** Answers what the test puts there, and counts the questions. */
class Played implements FactProvider {
  readonly what = "pools";
  readonly where = "/some/kubeconfig";
  asked = 0;
  next: () => Promise<ProvidedFacts> = async () => ({ facts: { pools: [] } });

  ask(): Promise<ProvidedFacts> {
    this.asked++;
    return this.next();
  }
}

const poolNamed = (name: string): ProvidedFacts => ({
  facts: { pools: [{ name, cluster: "", version: "", hash: "", ready: true, troubles: [] }] },
});

describe("a source", () => {
  test("is asked again when somebody wants to know and the answer is old, and not otherwise", async () => {
    const clock = new ManualClock(1_000);
    const played = new Played();
    const source = new PolledSource(played, 3_000, clock);
    expect(source.info).toEqual({ what: "pools", where: "/some/kubeconfig", state: "asking" });
    await source.ask();
    clock.advance(2_999);
    expect(source.facts).toEqual({ pools: [] });
    expect(played.asked).toBe(1);
    clock.advance(1);
    expect(source.facts).toEqual({ pools: [] });
    expect(source.facts).toEqual({ pools: [] });
    expect(played.asked).toBe(2);
    await source.ask();
    expect(played.asked).toBe(2);
    expect(source.info).toMatchObject({ state: "ok", answeredAt: 4_000 });
    clock.step(-21_600_000);
    clock.advance(3_000);
    expect([source.facts, played.asked]).toEqual([{ pools: [] }, 3]);
  });

  test("that fails keeps its last facts, reports error and remedy, and may recover", async () => {
    const clock = new ManualClock(1_000);
    const played = new Played();
    const source = new PolledSource(played, 3_000, clock);
    played.next = async () => ({ ...poolNamed("a/b"), leftOut: 7 });
    await source.ask();
    expect(source.info).toMatchObject({ state: "ok", leftOut: 7 });
    clock.advance(8_000);
    played.next = () => Promise.reject(new DrawbridgeError("DB_KUBECONFIG", "it is gone"));
    await source.ask();
    expect(source.info).toMatchObject({ state: "failing", error: "it is gone", answeredAt: 1_000 });
    expect(source.info.remedy).toMatch(/\w+/);
    expect(source.facts).toMatchObject({ pools: [{ name: "a/b" }] });
    played.next = () => Promise.reject(new Error("x".repeat(10_000)));
    await source.ask();
    expect(source.info.error).toHaveLength(500);
    expect(source.info.remedy).toBeUndefined();
    played.next = async () => poolNamed("c/d");
    await source.ask();
    expect(source.info).toEqual({ what: "pools", where: "/some/kubeconfig", state: "ok", answeredAt: 9_000 });
  });
});

describe("the admin port of drawbridge page", () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(played: Played): Promise<(route: string) => Promise<Response>> {
    const folder = mkdtempSync(join(tmpdir(), "db-overview-"));
    closers.push(() => rmSync(folder, { recursive: true }));
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, "for-this-test-only", { mode: 0o600 });
    const http = await startOverview({ port: 0, tokenFile, version: "1.2.3", providers: [played] });
    closers.push(() => http.close());
    expect(http.address).toMatch(/^127\.0\.0\.1:/);
    const headers = { Authorization: "Bearer for-this-test-only" };
    return (route) => fetch(`http://${http.address}/drawbridge/v1/${route}`, { headers });
  }

  test("answers with facts and its role from the first request on", async () => {
    const played = new Played();
    played.next = async () => poolNamed("a/b");
    const get = await open(played);
    expect(played.asked).toBe(1);
    const overview = (await (await get("")).json()) as Overview;
    expect(overview.process).toMatchObject({ role: "overview", version: "1.2.3", ready: true });
    expect(overview.pools).toMatchObject([{ name: "a/b" }]);
    expect(overview.sources).toMatchObject([{ what: "pools", state: "ok" }]);
    expect(overview).not.toHaveProperty("agents");
    expect((await get("tunnels")).status).toBe(404);
    expect(await (await get("dump")).json()).toMatchObject({ pools: [{ name: "a/b" }], tunnels: [] });
  });

  test("sends readers of events what changed, and only that", async () => {
    const played = new Played();
    played.next = async () => poolNamed("a/b");
    const get = await open(played);
    const events = eventsOf(await get("events"));
    const snapshot = (await events("snapshot")) as SnapshotEvent;
    expect(snapshot.pools?.[0]?.name).toBe("a/b");
    played.next = async () => poolNamed("c/d");
    let change: ChangeEvent;
    do change = (await events("change")) as ChangeEvent;
    while (change.pools === undefined);
    expect(change.pools[0]?.name).toBe("c/d");
    expect(change).not.toHaveProperty("listeners");
  });
});

/** The next event of that name. */
function eventsOf(response: Response): (name: string) => Promise<unknown> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return async (name) => {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const [first = "", second = ""] = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        if (first === `event: ${name}`) return JSON.parse(second.slice("data: ".length));
        continue;
      }
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream ended");
      text += decoder.decode(value, { stream: true });
    }
  };
}
