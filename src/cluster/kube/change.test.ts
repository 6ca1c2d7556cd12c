import { describe, expect, test } from "vitest";
import { refusalError } from "./errors.js";
import { againOnConflict, change } from "./objects.js";
import type { KubeApi, KubeObject } from "./port.js";

const path = "/api/v1/nodes/a";
const conflict = () => refusalError("it", 409, "");
const missing = () => refusalError("it", 404, "");

interface Counter extends KubeObject {
  readonly count: number;
}

/** One object, and others who write to it: `before` runs ahead of each update, which fails when it changed the object. */
class OneObject implements Pick<KubeApi, "get" | "update"> {
  stored: Counter | undefined = { metadata: { resourceVersion: "1" }, count: 0 };
  reads = 0;
  before: () => void = () => {};

  put(count: number): Counter {
    const next = Number(this.stored?.metadata?.resourceVersion) + 1;
    this.stored = { metadata: { resourceVersion: String(next) }, count };
    return this.stored;
  }

  async get<T>(): Promise<T> {
    this.reads++;
    if (this.stored === undefined) throw missing();
    return this.stored as T;
  }

  async update<T extends KubeObject>(_: string, object: T): Promise<T> {
    this.before();
    if (this.stored === undefined) throw missing();
    if (object.metadata?.resourceVersion !== this.stored.metadata?.resourceVersion) throw conflict();
    return this.put((object as unknown as Counter).count) as unknown as T;
  }
}

const oneMore = (counter: Counter): Counter => ({ ...counter, count: counter.count + 1 });

describe("change", () => {
  test("writes what was made of the object, and says what the API made of that", async () => {
    const api = new OneObject();
    expect(await change(api, path, 5, oneMore)).toEqual({ object: api.stored, isWritten: true });
    expect(api.stored).toEqual({ metadata: { resourceVersion: "2" }, count: 1 });
  });

  test("writes nothing when nothing is to be changed", async () => {
    const api = new OneObject();
    api.before = () => expect.unreachable();
    expect(await change<Counter>(api, path, 5, () => undefined)).toEqual({ object: api.stored, isWritten: false });
  });

  test("repeats the change on what another client wrote meanwhile", async () => {
    const api = new OneObject();
    api.before = () => {
      if (api.reads < 3) api.put(api.reads * 10);
    };
    expect((await change(api, path, 3, oneMore))?.object.count).toBe(21);
    expect(api.reads).toBe(3);
  });

  test("gives up after so many attempts, with the API's own refusal", async () => {
    const api = new OneObject();
    api.before = () => api.put(0);
    await expect(change(api, path, 3, oneMore)).rejects.toMatchObject({ status: 409 });
    expect(api.reads).toBe(3);
  });

  test("resolves to undefined where the object does not exist, or no longer", async () => {
    const api = new OneObject();
    api.before = () => {
      api.stored = undefined;
    };
    expect(await change(api, path, 5, oneMore)).toBeUndefined();
    expect(await change(api, path, 5, oneMore)).toBeUndefined();
    expect(api.reads).toBe(2);
  });
});

test("againOnConflict repeats after a conflict only", async () => {
  let runs = 0;
  const reason = refusalError("it", 403, "");
  const attempt = async () => {
    runs++;
    throw reason;
  };
  await expect(againOnConflict(5, attempt)).rejects.toBe(reason);
  expect(runs).toBe(1);
});
