import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { duration, float, lifetime, list, number, oneOf, repeated, text, yesNo } from "./flag.js";
import { parseFlags } from "./parse.js";

const flags = {
  port: number(8090, "a port"),
  name: text("a name", "anna"),
  yes: { ...yesNo("a switch"), shorthand: "y" },
  v: { ...number(4, "how much"), shorthand: "v" },
  list: list("a list", ["x"]),
  array: repeated("an array"),
  wait: duration("0s", "a time"),
  "valid-for": lifetime("24h", "a long time"),
  rate: float(0, "a rate"),
  kind: oneOf(["a", "b"], "a word"),
  old: { ...yesNo("a leftover", true), deprecated: "do without." },
  "new-name": { ...text("a renamed one"), alias: "old-name" },
};

test.each([
  ["1ns", 1],
  ["999999ns", 1],
  ["1.000001ms", 2],
  ["1.5s", 1_500],
  ["0s", 0],
  ["-1.5ms", -2],
  ["2562047h", 2 ** 31 - 1],
])("%s is %s ms for a timer", (given, milliseconds) => {
  expect(valuesOf(`--wait=${given}`).wait).toBe(milliseconds);
});

const parsed = (...argv: string[]) => parseFlags(flags, argv);
const valuesOf = (...argv: string[]) => parsed(...argv).values;

describe("values", () => {
  test("with = or as the next argument, the last one wins", () => {
    expect(valuesOf("--port=1", "--port", "2").port).toBe(2);
    expect(valuesOf("--name=a=b").name).toBe("a=b");
    expect(valuesOf("--name=").name).toBe("");
    expect(valuesOf("--name", "--port").name).toBe("--port");
    expect(valuesOf("--name=two\nlines").name).toBe("two\nlines");
  });

  test("a flag that was given is known, even with its default value", () => {
    const { given, values } = parsed("--port=8090");
    expect([...given]).toEqual(["port"]);
    expect(values.name).toBe("anna");
  });

  test.each<[string[], boolean, string[]]>([
    [["--yes"], true, []],
    [["--yes=false"], false, []],
    [["--yes=T"], true, []],
    [["--yes", "false"], true, ["false"]],
    [["-y"], true, []],
    [["-y=0"], false, []],
  ])("a boolean given as %j", (argv, value, positional) => {
    const { values, words } = parsed(...argv);
    expect(values.yes).toBe(value);
    expect(words).toEqual(positional);
  });

  test.each([[["-v", "3"]], [["-v3"]], [["-v=3"]], [["--v=3"]], [["--v", "3"]], [["-yv3"]], [["-yv", "3"]]])(
    "a verbosity of 3 given as %j",
    (argv) => {
      expect(valuesOf(...argv).v).toBe(3);
    },
  );

  test.each<[string[], string[]]>([
    [[], ["x"]],
    [
      ["--list=a,b", "--list", "c"],
      ["a", "b", "c"],
    ],
    [["--list=[]"], []],
    [["--list="], []],
    [["--list=[]", "--list=a"], ["a"]],
    [["--list=[a]"], ["[a]"]],
    [['--list="a,b"'], ["a,b"]],
  ])("a list given as %j", (argv, value) => {
    expect(valuesOf(...argv).list).toEqual(value);
  });

  test("an array keeps its commas", () => {
    expect(valuesOf("--array=a,b", "--array=").array).toEqual(["a,b", ""]);
  });

  test.each([
    ["1.5s", 1500],
    ["1ns", 1],
    ["-1ns", -1],
    ["1000h", 2 ** 31 - 1],
    ["0", 0],
  ])("a wait of %s is %i ms for a timer", (given, ms) => {
    expect(valuesOf("--wait", given).wait).toBe(ms);
  });

  test("a lifetime may be longer than a timer", () => {
    expect(valuesOf("--valid-for=8760h").validFor).toBe(8760 * 3_600_000);
  });

  test("other words are kept apart, -- ends the flags", () => {
    const { values, words } = parsed("a", "--port=1", "-", "", "--", "--port=2", "-x");
    expect(words).toEqual(["a", "-", "", "--port=2", "-x"]);
    expect(values.port).toBe(1);
  });

  test("a deprecated flag works and is mentioned once", () => {
    const { values, warnings } = parsed("--old=false", "--old=false");
    expect(values.old).toBe(false);
    expect(warnings).toEqual(["Flag --old has been deprecated, do without."]);
  });

  test("a former name sets the same value, the later one wins", () => {
    expect(valuesOf("--new-name=a", "--old-name=b").newName).toBe("b");
  });
});

describe("refusals in pflag's words", () => {
  test.each<[string[], DrawbridgeError["code"], string]>([
    [["--x"], "DB_FLAG_UNKNOWN", "unknown flag: --x"],
    [["--x=1"], "DB_FLAG_UNKNOWN", "unknown flag: --x"],
    [["-port=1"], "DB_FLAG_UNKNOWN", "unknown shorthand flag: 'p' in -port=1; did you mean --port?"],
    [["-yq"], "DB_FLAG_UNKNOWN", "unknown shorthand flag: 'q' in -q"],
    [["---port"], "DB_FLAG_VALUE", "bad flag syntax: ---port"],
    [["--=1"], "DB_FLAG_VALUE", "bad flag syntax: --=1"],
    [["--port"], "DB_FLAG_MISSING", "flag needs an argument: --port"],
    [["-v"], "DB_FLAG_MISSING", "flag needs an argument: 'v' in -v"],
    [
      ["--port", "abc"],
      "DB_FLAG_VALUE",
      'invalid argument "abc" for "--port" flag: strconv.ParseInt: parsing "abc": invalid syntax',
    ],
    [
      ["-v="],
      "DB_FLAG_VALUE",
      'invalid argument "=" for "-v, --v" flag: strconv.ParseInt: parsing "=": invalid syntax',
    ],
    [["--wait=10"], "DB_FLAG_VALUE", 'invalid argument "10" for "--wait" flag: time: missing unit in duration "10"'],
    [["--kind=c"], "DB_FLAG_VALUE", 'invalid argument "c" for "--kind" flag: must be one of a, b'],
  ])("%j is refused", (argv, code, message) => {
    expect(() => parsed(...argv)).toThrow(expect.objectContaining({ code, message }));
  });
});

test("arbitrary arguments: a result or a clean refusal", () => {
  const start = fc.constantFrom(
    "--port=",
    "--list=",
    "--wait=",
    "--rate=",
    "--v=",
    "-v",
    "--",
    "--__proto__",
    "-=",
    "",
  );
  const word = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("--port", "--yes", "--", "-", "-v", "--list", "--wait", "--rate", "--array", '--list="'),
    fc.tuple(start, fc.string()).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(fc.array(word), (argv) => {
      try {
        const { values, words } = parsed(...argv);
        expect(words.every((one) => argv.includes(one))).toBe(true);
        expect(Number.isInteger(values.port)).toBe(true);
        expect(Array.isArray(values.list)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
    }),
    { numRuns: 3_000 },
  );
});
