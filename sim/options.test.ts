import { expect, test } from "vitest";
import { parseOptions } from "./options.js";

test("without flags ten thousand seeds are played, with --fresh alone only those", () => {
  expect(parseOptions([])).toMatchObject({ seeds: 10_000, from: 1, fresh: 0, seed: undefined, mutants: false });
  expect(parseOptions(["--fresh=10"])).toMatchObject({ seeds: 0, fresh: 10 });
  expect(parseOptions(["--fresh=10", "--seeds=20"])).toMatchObject({ seeds: 20, fresh: 10 });
  expect(parseOptions(["--mutants"])).toMatchObject({ seeds: 20_000, mutants: true });
});

test.each([
  [["--seeds=0"], /--seeds must be a whole number above 0/],
  [["--from=1.5"], /--from must be a whole number/],
  [["--minutes=soon"], /--minutes must be a number above 0/],
  [["--trace"], /they need --seed/],
  [["--mutant=one"], /it needs --mutants or --seed/],
  [["--output=xml"], /--output must be text or json/],
])("%j is refused with a sentence", (argv, sentence) => {
  expect(() => parseOptions(argv)).toThrow(sentence);
});
