import type { ContenderName } from "./contenders/contender.js";
import { Fixture } from "./contenders/fixture.js";
import { layGround } from "./contenders/ground.js";
import type { Measurement, Row } from "./rows/row.js";

/** Everything measured: for each row and contender one measurement a round. */
export type Measured = ReadonlyMap<Row, ReadonlyMap<ContenderName, readonly (Measurement | undefined)[]>>;

export interface Plan {
  readonly rows: readonly Row[];
  readonly rounds: number;
  readonly seconds: number;
  readonly onMeasured: (step: { round: number; row: Row; name: ContenderName; measurement: Measurement }) => void;
}

/**
 * Interleaved: within a round all contenders of a row run one after the other, so that whatever the machine does at
 * that time meets all of them; the order turns round from round to round.
 */
export async function playRounds({ rows, rounds, seconds, onMeasured }: Plan): Promise<Measured> {
  const measured = new Map(
    rows.map((row) => [row, new Map<ContenderName, (Measurement | undefined)[]>(row.contenders.map((c) => [c, []]))]),
  );
  const ground = await layGround();
  const fixture = new Fixture(ground);
  try {
    for (let round = 0; round < rounds; round++) {
      for (const row of rows) {
        if (row.once && round > 0) continue;
        const order = round % 2 === 0 ? row.contenders : [...row.contenders].reverse();
        const measure = async (name: ContenderName): Promise<void> => {
          const measurement = await measureOnce(row, name, fixture, seconds);
          measured.get(row)!.get(name)![round] = measurement;
          onMeasured({ round, row, name, measurement });
        };
        if (row.together) await Promise.all(order.map(measure));
        else for (const name of order) await measure(name);
      }
      await fixture.clear();
    }
  } finally {
    await fixture.clear();
    await ground.close();
  }
  return measured;
}

/** A run that fails is a result too: it must not end the table, nor spoil what is measured next. */
async function measureOnce(row: Row, name: ContenderName, fixture: Fixture, seconds: number): Promise<Measurement> {
  const kind = { name, frontend: row.frontend };
  try {
    const measurement = await row.measure({ fixture, ...kind, seconds });
    if (measurement.faults.length > 0) await fixture.drop(kind);
    return measurement;
  } catch (reason) {
    await fixture.drop(kind);
    const text = reason instanceof Error ? reason.message : String(reason);
    return { values: {}, faults: [{ kind: "failed", text }] };
  }
}
