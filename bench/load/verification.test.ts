import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Scope } from "../../test/support/processes/scope.js";
import { type Damage, startMangler } from "../testing/mangler.js";
import { type DriveResult, drive } from "./drive.js";
import { type Listening, loadgenPath, startTarget } from "./loadgen.js";

const KIB = 2 ** 10;
const MIB = 2 ** 20;
const BYTES = 4 * MIB;

describe.skipIf(loadgenPath() === undefined)("the load generator compares every byte", () => {
  const scope = new Scope();
  let target: Listening;

  beforeAll(async () => {
    target = await startTarget(scope);
  });
  afterAll(() => scope.close());

  async function through(direction: "down" | "up", damage: Damage): Promise<DriveResult> {
    const mangler = await startMangler(target.address, direction, damage);
    try {
      const route = { frontend: "direct", address: mangler.address, target: target.address } as const;
      return await drive(route, `bulk-${direction}`, { tunnels: 2, bytes: BYTES });
    } finally {
      await mangler.close();
    }
  }

  test.each(["down", "up"] as const)("%s: what is not harmed is intact and complete", async (direction) => {
    expect(await through(direction, { kind: "none" })).toMatchObject({ intact: true, bytesTotal: 2 * BYTES });
  });

  const harm: readonly (readonly [string, Damage])[] = [
    ["one bit of one byte", { kind: "flip", at: 3 * MIB + 77 }],
    ["a lost byte", { kind: "drop", at: 2 * MIB + 5 }],
    ["a lost block, exactly", { kind: "drop", at: MIB + 17, size: MIB }],
    ["a piece sent twice", { kind: "double", at: MIB, size: 64 * KIB }],
    ["a block sent twice, exactly", { kind: "double", at: MIB + 17, size: MIB }],
  ];
  for (const direction of ["down", "up"] as const) {
    test.each(harm)(`${direction}: %s`, async (_name, damage) => {
      expect(await through(direction, damage)).toMatchObject({
        intact: false,
        problem: expect.stringMatching(/^byte \d+ is 0x|^the sink found a wrong one|arrived$/),
      });
    });
  }

  test("down: a lost tail", async () => {
    expect(await through("down", { kind: "drop", at: BYTES - 1000, size: 1000 })).toMatchObject({ intact: false });
  });

  test("down: two tunnels' bytes exchanged", async () => {
    expect(await through("down", { kind: "cross" })).toMatchObject({ intact: false });
  });
});
