import { expect, test } from "vitest";
import { parseOptions } from "./options.js";
import { allRows, chooseRows } from "./rows/index.js";

test("the defaults are the whole table", () => {
  const usual = { rows: [], rounds: 3, seconds: 2, smoke: false, nodes: [], output: "text", write: false };
  const ofPeers = { peers: false, only: [], force: false };
  expect(parseOptions([])).toEqual({ ...usual, ...ofPeers });
  expect(chooseRows([])).toBe(allRows);
});

test.each([
  [["--rounds=0"], /--rounds must be a whole number above 0/],
  [["--rounds=1.5"], /--rounds must be a whole number/],
  [["--seconds=soon"], /--seconds must be a number above 0/],
  [["--nodes=200,many"], /--nodes must be a whole number above 0/],
  [["--output=xml"], /--output must be text or json/],
  [["--row=bulk"], /--row/],
  [["--only=openssh"], /--only is for --peers/],
])("%j is refused with a sentence", (argv, sentence) => {
  expect(() => parseOptions(argv)).toThrow(sentence);
});

test("growth goes to 10,000 tunnels unless a number is given", () => {
  expect(parseOptions(["--growth"])).toMatchObject({ growth: 10_000 });
  expect(parseOptions(["--growth", "--output=json"])).toMatchObject({ growth: 10_000, output: "json" });
  expect(parseOptions(["--growth", "100"])).toMatchObject({ growth: 100 });
});

test("with other tunnels runs are shorter unless said", () => {
  const only = ["openssh", "rathole"];
  expect(parseOptions(["--peers", "--only=openssh,rathole"])).toMatchObject({
    peers: true,
    rounds: 3,
    seconds: 1,
    only,
  });
  expect(parseOptions(["--peers", "--rounds=5", "--seconds=2"])).toMatchObject({ rounds: 5, seconds: 2, force: false });
});

test.each([[[]], [["--growth"]], [["--nodes=200"]], [["--peers"]]])("%j can be forced on a busy machine", (argv) => {
  expect(parseOptions(argv)).toMatchObject({ force: false });
  expect(parseOptions([...argv, "--force"])).toMatchObject({ force: true });
});

test("several numbers of workers are played one after the other", () => {
  expect(parseOptions(["--nodes=200,2000"])).toMatchObject({ nodes: [200, 2000] });
});

test("rows are chosen by name before they are chosen by beginning", () => {
  const names = (...chosen: string[]) => chooseRows(chosen).map((row) => row.name);
  expect(names("bulk")).toEqual(["bulk-down-1", "bulk-up-1", "bulk-down-8", "bulk-up-8"]);
  expect(names("scale-agents-1")).toEqual(["scale-agents-1"]);
  expect(() => names("bulky")).toThrow(/no row called bulky/);
});

test("no two rows have the same name", () => {
  expect(new Set(allRows.map((row) => row.name)).size).toBe(allRows.length);
});
