import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { FlagSet } from "./flag-set.js";
import { boolean, duration, float32, integer, string, stringArray, stringSlice } from "./flag-value.js";

function sample() {
  const set = new FlagSet();
  return {
    set,
    port: set.add("port", integer, 8090, "a port"),
    name: set.add("name", string, "anna", "a name"),
    yes: set.add("yes", boolean, false, "a switch", { shorthand: "y" }),
    verbosity: set.add("v", integer, 4, "how much", { shorthand: "v" }),
    list: set.add("list", stringSlice, ["x"], "a list"),
    array: set.add("array", stringArray, [], "an array"),
    wait: set.add("wait", duration, 0n, "a time"),
    rate: set.add("rate", float32, 0, "a rate"),
    old: set.add("old", boolean, true, "a leftover", { deprecated: "do without." }),
  };
}

function parsed(...argv: string[]) {
  const flags = sample();
  return { ...flags, ...flags.set.parse(argv) };
}

describe("values", () => {
  test("with = or as the next argument, the last one wins", () => {
    expect(parsed("--port=1", "--port", "2").port.value).toBe(2);
    expect(parsed("--name=a=b").name.value).toBe("a=b");
    expect(parsed("--name=").name.value).toBe("");
    expect(parsed("--name", "--port").name.value).toBe("--port");
    expect(parsed("--name=two\nlines").name.value).toBe("two\nlines");
  });

  test("defaults stay and know that nobody changed them", () => {
    const { port, name } = parsed("--port=8090");
    expect([port.changed, name.changed, name.value]).toEqual([true, false, "anna"]);
  });

  test.each<[string[], boolean, string[]]>([
    [["--yes"], true, []],
    [["--yes=false"], false, []],
    [["--yes=T"], true, []],
    [["--yes", "false"], true, ["false"]],
    [["-y"], true, []],
    [["-y=0"], false, []],
  ])("boolean %j", (argv, value, positional) => {
    const result = parsed(...argv);
    expect(result.yes.value).toBe(value);
    expect(result.positional).toEqual(positional);
  });

  test.each([[["-v", "3"]], [["-v3"]], [["-v=3"]], [["--v=3"]], [["--v", "3"]], [["-yv3"]], [["-yv", "3"]]])(
    "verbosity %j",
    (argv) => {
      expect(parsed(...argv).verbosity.value).toBe(3);
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
  ])("list %j", (argv, value) => {
    expect(parsed(...argv).list.value).toEqual(value);
  });

  test("an array keeps its commas", () => {
    expect(parsed("--array=a,b", "--array=").array.value).toEqual(["a,b", ""]);
  });

  test("other words are kept apart, -- ends the flags", () => {
    const { positional, port } = parsed("a", "--port=1", "-", "", "--", "--port=2", "-x");
    expect(positional).toEqual(["a", "-", "", "--port=2", "-x"]);
    expect(port.value).toBe(1);
  });

  test("a deprecated flag works and is mentioned once", () => {
    const { old, warnings } = parsed("--old=false", "--old=false");
    expect(old.value).toBe(false);
    expect(warnings).toEqual(["Flag --old has been deprecated, do without."]);
  });

  test("an alias sets the same value, the later one wins", () => {
    const set = new FlagSet();
    const flag = set.add("new-name", string, "", "");
    set.alias("old-name", flag);
    set.parse(["--new-name=a", "--old-name=b"]);
    expect(flag.value).toBe("b");
    expect(set.flags).toEqual([flag]);
  });
});

describe("refusals in pflag's words", () => {
  test.each<[string[], DrawbridgeError["code"], string]>([
    [["--x"], "DB_FLAG_UNKNOWN", "unknown flag: --x"],
    [["--x=1"], "DB_FLAG_UNKNOWN", "unknown flag: --x"],
    [["-port=1"], "DB_FLAG_UNKNOWN", "unknown shorthand flag: 'p' in -port=1"],
    [["-yq"], "DB_FLAG_UNKNOWN", "unknown shorthand flag: 'q' in -q"],
    [["---port"], "DB_FLAG_VALUE", "bad flag syntax: ---port"],
    [["--=1"], "DB_FLAG_VALUE", "bad flag syntax: --=1"],
    [["--port"], "DB_FLAG_VALUE", "flag needs an argument: --port"],
    [["-v"], "DB_FLAG_VALUE", "flag needs an argument: 'v' in -v"],
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
  ])("%j", (argv, code, message) => {
    expect(() => parsed(...argv)).toThrow(expect.objectContaining({ code, message }));
  });
});

test("arbitrary arguments: a result or a clean refusal", () => {
  const word = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "--port",
      "--yes",
      "--",
      "-",
      "-v",
      "--list",
      "--wait",
      "--rate",
      "--array",
      "--__proto__",
      "-=",
      '--list="',
    ),
    fc
      .tuple(fc.constantFrom("--port=", "--list=", "--wait=", "--rate=", "--v=", "-v", "--"), fc.string())
      .map((w) => w.join("")),
  );
  fc.assert(
    fc.property(fc.array(word), (argv) => {
      try {
        const { positional, port, list } = parsed(...argv);
        expect(positional.every((text) => argv.includes(text))).toBe(true);
        expect(Number.isInteger(port.value)).toBe(true);
        expect(Array.isArray(list.value)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(DrawbridgeError);
      }
    }),
    { numRuns: 3_000 },
  );
});
