import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collectionPath } from "../../kube/paths.js";
import { LeadershipLost, Writer } from "./controller.js";
import { makePool, namespace, PoolFixture, pullSecret } from "./testing/fixture.js";

let fixture: PoolFixture;
let leads: boolean;
let writer: Writer;

beforeEach(() => {
  fixture = new PoolFixture();
  leads = true;
  writer = new Writer(fixture.api, () => leads);
});

afterEach(() => fixture.close());

describe("what a pass writes", () => {
  test("is not written once another replica leads", async () => {
    const made = await writer.perform({ verb: "create", object: pullSecret });
    leads = false;
    await expect(writer.perform({ verb: "create", object: makePool() })).rejects.toThrow(LeadershipLost);
    await expect(writer.perform({ verb: "update", object: made! })).rejects.toThrow(LeadershipLost);
    await expect(writer.perform({ verb: "delete", object: made! })).rejects.toThrow(LeadershipLost);
    await expect(writer.updateStatus(makePool())).rejects.toThrow(LeadershipLost);
    expect((await fixture.api.list(collectionPath("Secret", namespace))).items.length).toBe(1);
  });

  test("succeeds when the object to delete or to report on is gone already", async () => {
    await expect(writer.perform({ verb: "delete", object: pullSecret })).resolves.toBeUndefined();
    await expect(writer.updateStatus(makePool())).resolves.toBeUndefined();
  });

  test("holds only for the version that it was decided on", async () => {
    const made = (await writer.perform({ verb: "create", object: pullSecret }))!;
    await writer.perform({ verb: "update", object: { ...made, data: {} } as typeof made });
    await expect(writer.perform({ verb: "update", object: made })).rejects.toMatchObject({ status: 409 });
    await expect(writer.perform({ verb: "delete", object: made })).rejects.toMatchObject({ status: 409 });
  });
});
