/** `--help` of the Go originals and ours, flag by flag: name, shorthand, type, default. */
import { describe, expect, test } from "vitest";
import { behindUpstream, readHelp, unwrapped } from "./compare.js";
import { deviations } from "./deviations.js";
import { ours, programs, theirs } from "./programs.js";

test("a help page is read as it is meant", () => {
  const help =
    '\nFlags:\n      --a string   Text (default: 0). (default "x")\n  -v, --v Level    Text\n      --yes        Text\n';
  expect(Object.fromEntries(readHelp(help))).toEqual({
    a: { shorthand: "", type: "string", default: '"x"' },
    v: { shorthand: "v", type: "Level", default: "" },
    yes: { shorthand: "", type: "", default: "" },
  });
});

test("a newer upstream is ahead by the flags that ours lacks or has otherwise", () => {
  const row = { shorthand: "", type: "int", default: "10" };
  const known = { added: ["ours"], newer: ["newer"], hidden: ["old"], defaults: { longer: "15" } };
  const same = { same: row, newer: row };
  const newest = new Map(Object.entries({ ...same, missing: row, ours: row, old: row, longer: row, other: row }));
  const actual = new Map(
    Object.entries({ ...same, ours: row, longer: { ...row, default: "15" }, other: { ...row, type: "string" } }),
  );
  expect(behindUpstream(newest, actual, known)).toEqual([
    "--missing is upstream's and is not accepted",
    "--ours is ours and upstream's now: compare what it does",
    expect.stringMatching(/^--other is .*"string".* here and .*"int".* upstream$/),
  ]);
});

describe.each(programs)("%s --help", (program) => {
  const original = theirs(program);
  const { newer, hidden, defaults } = deviations[program];
  const added = [...deviations[program].added, ...newer];

  test.skipIf(!original)("differs from the original's only where it is meant to", () => {
    const expected = readHelp(original?.("--help").stdout ?? "");
    expect(expected.size).toBeGreaterThan(40);
    for (const name of hidden) expect(expected.delete(name), `${name} is upstream's`).toBe(true);
    for (const [name, value] of Object.entries(defaults)) {
      const row = expected.get(name);
      expect(row, `${name} is upstream's`).toBeDefined();
      expect(row?.default).not.toBe(value);
      if (row) expected.set(name, { ...row, default: value });
    }
    const actual = readHelp(ours(program)("--help").stdout);
    for (const name of added) {
      expect(expected.has(name), `${name} is not upstream's`).toBe(false);
      expect(actual.delete(name), `${name} is ours`).toBe(true);
    }
    const missing = [...expected.keys()].filter((name) => !actual.has(name));
    expect(missing, `upstream's flags that ${program} does not have`).toEqual([]);
    const unexplained = [...actual.keys()].filter((name) => !expected.has(name));
    expect(unexplained, `flags of ${program} that neither upstream nor deviations.ts has`).toEqual([]);
    expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
  });

  test.skipIf(!original)("goes to stdout and ends well in both, and a bad flag beside it wins", () => {
    for (const argv of [["--help"], ["-h"], ["--help=true"], ["-v3", "-h"]]) {
      const [their, our] = [original?.(...argv), ours(program)(...argv)];
      expect(their?.status).toBe(0);
      expect(our).toMatchObject({ status: 0, stderr: "" });
      expect(our.stdout).toContain("\nFlags:\n");
    }
    expect(ours(program)("--help", "-q").status).toBe(original?.("--help", "-q").status);
  });

  test("our own flags say so", () => {
    const stdout = unwrapped(ours(program)("--help").stdout);
    for (const name of added.filter((flag) => !newer.includes(flag))) {
      expect(stdout).toMatch(new RegExp(`--${name} .*drawbridge: `));
    }
  });
});
