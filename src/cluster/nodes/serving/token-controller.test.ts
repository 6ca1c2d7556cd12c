/** The token controller over a directory of objects, which behaves as an API server does, and a manual clock. */
import { randomBytes } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import type { ManualClock } from "../../../base/testing/manual-clock.js";
import { KubeApiError } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";
import { annotation, encoded, secretText } from "../objects.js";
import {
  EXPIRE_AFTER_MS,
  makeTokenSecret,
  ROTATE_AFTER_MS,
  readTokenSecret,
  withExpiry,
} from "../token/token-secret.js";
import { collection, content, named, path, type ServingFixture, start, TokenFixture } from "./testing/fixture.js";

const soon = { timeout: 10_000, interval: 10 };

describe("the token controller", () => {
  let fixture: TokenFixture;
  let api: KubeApi;
  let clock: ManualClock;

  const replica: TokenFixture["replica"] = (name, more) => fixture.replica(name, more);
  const see = (...who: readonly ServingFixture[]) => fixture.see(...who);
  const pass = (ms: number, ...who: readonly ServingFixture[]) => fixture.pass(ms, ...who);
  const stored = () => fixture.stored();
  const outcome = () => fixture.outcome();

  beforeEach(async () => {
    fixture = await TokenFixture.open();
    ({ api, clock } = fixture);
  });
  afterEach(() => fixture.close());

  test("serves a Secret's token once its payload is made, and says so in the Secret", async () => {
    const one = replica("a");
    await see(one);
    await expect.poll(outcome, soon).toEqual({ reason: "AsExpected", message: "Payload generated successfully" });
    expect(one.tokens.find("token-0")).toMatchObject({ secret: "token-workers-11111111", pool: "clusters/workers" });
    expect((await stored()).data?.payload).toBeUndefined();
  });

  test("keeps the payload in the Secret where nodes are upgraded in place", async () => {
    await api.delete(path);
    await api.create(collection, makeTokenSecret({ ...content, upgradeType: "InPlace" }, start));
    const one = replica("a");
    await see(one);
    await expect.poll(async () => secretText(await stored(), "payload"), soon).toBeDefined();
    const packed = Buffer.from(secretText(await stored(), "payload") ?? "", "base64");
    expect(gunzipSync(packed).toString()).toBe(one.text);
  });

  test("serves a payload that is too large for its Secret, says so there, once, and rotates on", async () => {
    await api.delete(path);
    await api.create(collection, makeTokenSecret({ ...content, upgradeType: "InPlace" }, start));
    const one = replica("a");
    one.text = randomBytes(1_000_000).toString("hex");
    await see(one);
    await expect.poll(async () => (await outcome())?.reason, soon).toBe("PayloadTooLarge");
    expect((await outcome())?.message).toMatch(
      /takes \d+ bytes of the Secret, .* make the pool's configuration smaller$/,
    );
    expect([(await stored()).data?.payload, one.knows("token-0")]).toEqual([undefined, [true]]);
    const { resourceVersion } = (await stored()).metadata ?? {};
    await pass(60_000, one);
    expect((await stored()).metadata?.resourceVersion).toBe(resourceVersion);
    await pass(ROTATE_AFTER_MS, one);
    expect([one.knows("token-0", "a-1"), (await outcome())?.reason]).toEqual([[true, true], "PayloadTooLarge"]);
  });

  test("says in the Secret why there is no payload, once, and tries again ever more slowly until there is", async () => {
    let writes = 0;
    const counting: KubeApi = {
      ...api,
      update: (at, object) => {
        writes++;
        return api.update(at, object);
      },
    };
    const one = replica("a", { api: counting });
    one.text = undefined;
    await see(one);
    await eventually(() => expect(one.errors).toHaveLength(1));
    expect(await outcome()).toEqual({
      reason: "InvalidConfig",
      message: "failed to generate payload: error getting ignition payload: the pull secret does not exist yet",
    });
    // Our own note comes back through the watch and is no reason to hurry.
    await see(one);
    for (const [delay, failures] of [
      [1_000, 2],
      [2_000, 3],
      [4_000, 4],
    ] as const) {
      await eventually(() => expect(clock.waiting).toEqual([delay]));
      clock.advance(delay);
      await eventually(() => expect(one.errors).toHaveLength(failures));
    }
    expect([writes, one.knows("token-0")]).toEqual([1, [false]]);
    one.text = "{}";
    await eventually(() => expect(clock.waiting).toEqual([8_000]));
    clock.advance(8_000);
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    await expect.poll(async () => (await outcome())?.reason, soon).toBe("AsExpected");
  });

  test("says when the configuration in the Secret is broken", async () => {
    const secret = await stored();
    await api.update(path, { ...secret, data: { ...secret.data, config: encoded("???") } });
    const one = replica("a", { source: async (token) => ({ text: token.rawConfig(), named }) });
    await see(one);
    await expect
      .poll(outcome, soon)
      .toEqual({ reason: "InvalidConfig", message: "failed to decode and decompress config: it is not base64" });
  });

  test("rotates at half a life; the old token stays valid, and the third revokes the first", async () => {
    const one = replica("a");
    await see(one);
    await pass(ROTATE_AFTER_MS - 1, one);
    expect([one.rotations, one.knows("token-0")]).toEqual([0, [true]]);
    await pass(60_000, one);
    expect([one.rotations, one.knows("token-0", "a-1")]).toEqual([1, [true, true]]);
    expect(readTokenSecret(await stored())).toMatchObject({ token: "a-1", oldToken: "token-0" });
    await pass(ROTATE_AFTER_MS, one);
    expect(one.knows("token-0", "a-1", "a-2")).toEqual([false, true, true]);
  });

  test("two replicas: one rotates, the other takes the new token over and forgets the first of three", async () => {
    const [one, two] = [replica("a"), replica("b")];
    await see(one, two);
    await eventually(() => expect([...one.knows("token-0"), ...two.knows("token-0")]).toEqual([true, true]));
    await pass(ROTATE_AFTER_MS, one, two);
    expect(one.rotations + two.rotations).toBe(1);
    const { token = "", oldToken } = readTokenSecret(await stored());
    expect(oldToken).toBe("token-0");
    for (const each of [one, two]) expect(each.knows("token-0", token)).toEqual([true, true]);
    await pass(ROTATE_AFTER_MS, one, two);
    const { token: third = "" } = readTokenSecret(await stored());
    for (const each of [one, two]) expect(each.knows("token-0", token, third)).toEqual([false, true, true]);
    expect(one.errors.concat(two.errors)).toEqual([]);
  });

  test("what another replica rotated away is forgotten at once, not at the end of its life", async () => {
    const one = replica("a");
    await see(one);
    await expect.poll(outcome, soon).toBeDefined();
    for (const [old, token] of [
      ["token-0", "b-1"],
      ["b-1", "b-2"],
    ] as const) {
      const secret = await stored();
      await api.update(path, { ...secret, data: { ...secret.data, old_token: encoded(old), token: encoded(token) } });
      await see(one);
      await eventually(() => expect(one.knows(old, token)).toEqual([true, true]));
    }
    await eventually(() => expect(one.knows("token-0")).toEqual([false]));
  });

  test("an API that fails during a rotation leaves the old token valid and the new one unknown; later it succeeds", async () => {
    let down = false;
    const unsure: KubeApi = {
      ...api,
      update: (at, object) =>
        down ? Promise.reject(new KubeApiError("the API did not answer", { status: 0 })) : api.update(at, object),
    };
    const one = replica("a", { api: unsure });
    await see(one);
    await expect.poll(outcome, soon).toBeDefined();
    down = true;
    await pass(ROTATE_AFTER_MS, one);
    expect([one.knows("token-0", "a-1"), one.errors.length > 0]).toEqual([[true, false], true]);
    down = false;
    await pass(60 * 60_000, one);
    expect([one.rotations, one.knows("token-0")]).toEqual([1, [true]]);
  });

  test.each([6, -6])(
    "makes the payload again after a minute though the host's clock is set by %i hours",
    async (hours) => {
      const one = replica("a");
      await see(one);
      await eventually(() => expect(one.knows("token-0")).toEqual([true]));
      const before = one.tokens.find("token-0")?.payload().etag;
      one.text = '{"ignition":{"version":"3.4.0"}}';
      clock.step(hours * 60 * 60_000);
      await pass(60_000, one);
      expect(one.tokens.find("token-0")?.payload().etag).not.toBe(before);
    },
  );

  test("after a restart both tokens work again", async () => {
    const secret = await stored();
    await api.update(path, { ...secret, data: { ...secret.data, old_token: encoded("before") } });
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0", "before", "")).toEqual([true, true, false]));
  });

  test("deletes a Secret at its end and not before, though nothing else happens", async () => {
    await api.update(path, withExpiry(await stored(), start)!);
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    await pass(EXPIRE_AFTER_MS - 1, one);
    expect(one.knows("token-0")).toEqual([true]);
    clock.advance(60_000);
    await expect.poll(async () => (await api.list(collection)).items.length, soon).toBe(0);
    expect(one.knows("token-0")).toEqual([false]);
  });

  test("a Secret that is gone takes its tokens along", async () => {
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    await api.delete(path);
    await see(one);
    expect(one.knows("token-0")).toEqual([false]);
  });

  test("a Secret that is deleted while its payload is made again takes its tokens along", async () => {
    const text = '{"ignition":{"version":"3.2.0"}}';
    const waiting: ((made: { text: string; named: typeof named }) => void)[] = [];
    const one = replica("a", { source: () => new Promise((resolve) => waiting.push(resolve)) });
    await see(one);
    await eventually(() => expect(waiting.length).toBe(1));
    waiting.shift()!({ text, named });
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    await eventually(() => expect(clock.waiting.length).toBe(1));
    clock.advance(60_000);
    await eventually(() => expect(waiting.length).toBe(1));
    await api.delete(path);
    await see(one);
    expect(one.knows("token-0")).toEqual([false]);
    waiting.shift()!({ text, named });
    await one.controller.stop();
    expect(one.knows("token-0")).toEqual([false]);
  });

  test("a token that another replica rotated is good at once, also while the payload cannot be made again", async () => {
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    one.text = undefined;
    await eventually(() => expect(clock.waiting.length).toBe(1));
    clock.advance(60_000);
    const secret = await stored();
    await api.update(path, {
      ...secret,
      data: { ...secret.data, old_token: encoded("token-0"), token: encoded("b-1") },
    });
    await see(one);
    await eventually(() => expect(one.knows("token-0", "b-1")).toEqual([true, true]));
  });

  test("a Secret whose token was taken out gets a new one", async () => {
    const secret = await stored();
    const { token: _, ...data } = secret.data ?? {};
    await api.update(path, { ...secret, data });
    const one = replica("a");
    await see(one);
    await expect.poll(async () => readTokenSecret(await stored()).token, soon).toBe("a-1");
    expect(one.knows("a-1")).toEqual([true]);
  });

  test("takes up a payload that changed without the Secret; while that fails the last one is served", async () => {
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0")).toEqual([true]));
    const served = () => one.tokens.find("token-0")?.payload().pieces.join("");
    one.text = undefined;
    await pass(60_000, one);
    expect([served(), one.errors.length]).toEqual(['{"ignition":{"version":"3.2.0"}}', 1]);
    one.text = '{"ignition":{"version":"3.3.0"}}';
    await pass(60_000, one);
    expect(served()).toBe(one.text);
  });

  test("a pool's current payload is that of the Secret that has no end", async () => {
    await api.update(path, withExpiry(await stored(), start)!);
    await api.create(collection, makeTokenSecret({ ...content, hash: "22222222", token: "token-x" }, start));
    const one = replica("a");
    await see(one);
    await eventually(() => expect(one.knows("token-0", "token-x")).toEqual([true, true]));
    expect(one.controller.currentOf("clusters/workers")?.secret).toBe("token-workers-22222222");
    expect(one.controller.currentOf("clusters/others")).toBeUndefined();
  });

  test("other Secrets are ignored", async () => {
    const secret = await stored();
    const { [annotation.ignitionConfig]: _, ...annotations } = secret.metadata?.annotations ?? {};
    await api.update(path, { ...secret, metadata: { ...secret.metadata, annotations } });
    const one = replica("a");
    await see(one);
    expect([one.knows("token-0"), clock.waiting]).toEqual([[false], []]);
  });
});
