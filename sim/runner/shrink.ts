/**
 * Makes a failing world smaller for as long as it fails in the same way: lists lose items, by halves and then one by one;
 * sizes and times are halved; what is optional is left out.
 */

export interface Shrunk<S> {
  readonly scenario: S;
  /** Worlds played for it. */
  readonly plays: number;
}

/** Worlds played at most. A number and no time: so the same seed always ends in the same world. */
const MOST_PLAYS = 1_500;

/** Amounts of which less is simpler, and those of them that may be nothing at all. */
const AMOUNTS = new Set(["bytes", "afterBytes", "stopsAfter", "atMs", "pauseMs", "everyMs", "forMs", "afterMs"]);
const MAY_BE_ZERO = new Set(["afterBytes", "atMs", "pauseMs", "everyMs"]);

/** What a world may do without. */
const OPTIONAL = new Set(["watchdog", "tokens", "token", "wrong", "patienceMs", "stopsAfter", "kube"]);

type Path = readonly (string | number)[];

export async function shrink<S>(
  failing: S,
  stillFails: (scenario: S) => Promise<boolean>,
  mostPlays = MOST_PLAYS,
): Promise<Shrunk<S>> {
  let scenario = failing;
  let plays = 0;
  const accepts = async (candidate: S): Promise<boolean> => {
    if (plays >= mostPlays) return false;
    plays++;
    if (!(await stillFails(candidate))) return false;
    scenario = candidate;
    return true;
  };
  for (let before: S | undefined; before !== scenario && plays < mostPlays; ) {
    before = scenario;
    for (const path of pathsOf(scenario, isList)) {
      const list = at(scenario, path);
      // An earlier removal may have taken the whole list along.
      if (isList(list)) await shrinkList(path, list.length);
    }
    for (const path of pathsOf(scenario, (_, key) => OPTIONAL.has(String(key))))
      await accepts(withValue(scenario, path, undefined));
    for (const path of pathsOf(scenario, (value, key) => typeof value === "number" && AMOUNTS.has(String(key))))
      await shrinkNumber(path);
  }
  return { scenario, plays };

  async function shrinkList(path: Path, length: number): Promise<void> {
    for (let run = length; run >= 1; run = run === 1 ? 0 : Math.ceil(run / 2)) {
      for (let from = 0; ; ) {
        const list = at(scenario, path) as readonly unknown[];
        if (from >= list.length) break;
        const without = [...list.slice(0, from), ...list.slice(from + run)];
        if (!(await accepts(withValue(scenario, path, without)))) from += run;
      }
    }
  }

  async function shrinkNumber(path: Path): Promise<void> {
    if (MAY_BE_ZERO.has(String(path.at(-1))) && (await accepts(withValue(scenario, path, 0)))) return;
    for (;;) {
      const half = Math.floor((at(scenario, path) as number) / 2);
      if (half === 0 || !(await accepts(withValue(scenario, path, half)))) return;
    }
  }
}

/** Two numbers are bounds, and no list to shorten. */
function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value) && typeof value[0] !== "number";
}

function pathsOf(
  value: unknown,
  wanted: (value: unknown, key: string | number | undefined) => boolean,
  path: Path = [],
): Path[] {
  const own = wanted(value, path.at(-1)) ? [path] : [];
  if (typeof value !== "object" || value === null) return own;
  const entries: [string | number, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [...own, ...entries.flatMap(([key, item]) => pathsOf(item, wanted, [...path, key]))];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (inner as Record<string | number, unknown> | undefined)?.[key], value);
}

/** A copy with one value replaced, or left out. */
function withValue<S>(scenario: S, path: Path, value: unknown): S {
  const [key, ...rest] = path;
  if (key === undefined) return value as S;
  const replaced = withValue((scenario as Record<string | number, unknown>)[key], rest, value);
  if (Array.isArray(scenario)) return scenario.with(key as number, replaced) as S;
  const copy: Record<string, unknown> = { ...scenario, [key]: replaced };
  if (replaced === undefined) delete copy[key];
  return copy as S;
}
