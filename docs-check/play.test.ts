/** Pages played on a fixture that is nothing but a folder of this machine. */
import { expect, test } from "vitest";
import { type FixtureKind, onThisMachine } from "./fixture.js";
import { readPage } from "./page.js";
import { type Played, playStage } from "./play.js";

const done: string[] = [];

const folder: FixtureKind = {
  equipped: async () => true,
  set: async () => ({
    hosts: { here: onThisMachine },
    words: { NAME: "Ada" },
    env: { GREETING: "hello" },
    steps: { "a step": async () => done.push("a step") },
  }),
};

/** Blocks as a page has them: marker, language, text. */
async function played(...blocks: (readonly [string, string, string])[]) {
  const markdown = blocks.map(([marker, language, text]) => `<!-- ${marker} -->\n\`\`\`${language}\n${text}\n\`\`\`\n`);
  const reported: Played[] = [];
  const isWhole = await playStage("folder", folder, readPage(markdown.join("\n")), (each) => reported.push(each));
  return { isWhole, failures: reported.flatMap(({ failure }) => failure ?? []), count: reported.length - 1 };
}

test("commands of a page follow each other in one folder, with words and variables filled in", async () => {
  const story = await played(
    ["file: folder, names.txt", "text", "NAME"],
    ["check: folder", "sh", 'echo "$GREETING $(cat names.txt)" > said.txt'],
    ["check: folder", "sh", "cat said.txt"],
    ["prints", "text", "hello Ada"],
  );
  expect(story).toEqual({ isWhole: true, failures: [], count: 3 });
});

test("blocks of other fixtures are left alone", async () => {
  expect(await played(["check: elsewhere", "sh", "false"])).toEqual({ isWhole: true, failures: [], count: 0 });
});

test("another end than the page's is a failure, and what comes after is not run", async () => {
  const story = await played(["check: folder", "sh", "echo why >&2; exit 3"], ["check: folder", "sh", "true"]);
  expect(story).toEqual({ isWhole: false, failures: ["ended with 3, not 0:\nwhy"], count: 1 });
  expect((await played(["check: folder, ends with 3", "sh", "exit 3"])).isWhole).toBe(true);
  expect((await played(["check: folder", "sh", "false\ntrue"])).isWhole).toBe(false);
});

test("another output than the page's is a failure", async () => {
  const { failures } = await played(["check: folder", "sh", "echo Bob"], ["prints", "text", "NAME"]);
  expect(failures).toEqual(["did not print what the page says:\nBob"]);
});

test("what needs a moment is asked again, for as long as the page says", async () => {
  const second = "[ -e once ] || { touch once; exit 1; }";
  expect((await played(["check: folder, within 10s", "sh", second])).isWhole).toBe(true);
  expect((await played(["check: folder", "sh", second])).isWhole).toBe(false);
});

test("a program that stays runs beside what follows, until another takes its name", async () => {
  const program = (word: string) => {
    const script = `fs.writeFileSync("alive", "${word} " + process.pid + "\\n"); setInterval(() => {}, 1e9)`;
    return ["check: folder, stays as program", "sh", `${process.execPath} -e '${script}'`] as const;
  };
  const sees = (word: string, also: string) => {
    const alive = `read word pid < alive; [ $word = ${word} ]; kill -0 $pid; ${also}`;
    return ["check: folder, within 10s", "sh", alive] as const;
  };
  const [first, second] = [sees("one", "echo $pid > before"), sees("two", "! kill -0 $(cat before)")];
  expect(await played(program("one"), first, program("two"), second)).toMatchObject({ failures: [] });
});

test("the lab does its steps where the page has them, and knows no others", async () => {
  const page = (step: string) => readPage(`<!-- lab: folder, ${step} -->\n`);
  const reported: Played[] = [];
  expect(await playStage("folder", folder, page("a step"), (each) => reported.push(each))).toBe(true);
  expect(done).toEqual(["a step"]);
  expect(await playStage("folder", folder, page("a dance"), (each) => reported.push(each))).toBe(false);
  expect(reported.at(-1)?.failure).toBe('the fixture folder has no step "a dance"');
});

test("a lab that cannot be set is reported as such", async () => {
  const reported: Played[] = [];
  const broken = { ...folder, set: async () => Promise.reject(new Error("no nodes today")) };
  expect(await playStage("folder", broken, [], (each) => reported.push(each))).toBe(false);
  expect(reported).toMatchObject([{ line: 0, failure: "no nodes today" }]);
});
