/** `npm run docs:check`: runs the commands of every page in the lab. */
import { parseArgs } from "node:util";
import { fixtures } from "./fixtures/index.js";
import { fixturesOf } from "./page.js";
import { allPages, type Page } from "./pages.js";
import { type Played, playStage } from "./play.js";

const HELP = `Runs the commands of the pages in docs/ and of README.md in a lab, and compares what they print with what the pages say.

  npm run docs:check                        all pages
  npm run docs:check -- --only migrating    one page (README, or the name of a file in docs/); can be repeated
  npm run docs:check -- --fixture tunnel      of all pages what is played on one fixture; can be repeated
  npm run docs:check -- --list              what would be run, and what is not run and why
`;

const { values } = parseArgs({
  options: {
    list: { type: "boolean", default: false },
    only: { type: "string", multiple: true },
    fixture: { type: "string", multiple: true },
    help: { type: "boolean", default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else process.exitCode = values.list ? list(chosen()) : await check(chosen());

function chosen(): Page[] {
  const pages = allPages();
  mustBeAmong(
    values.only,
    "page",
    pages.map(({ name }) => name),
  );
  mustBeAmong(values.fixture, "fixture", Object.keys(fixtures));
  return pages.filter(({ name }) => values.only?.includes(name) ?? true);
}

function mustBeAmong(wanted: readonly string[] | undefined, what: string, known: readonly string[]): void {
  const unknown = wanted?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  process.stderr.write(`there is no ${what} ${unknown}; known are ${known.join(", ")}\n`);
  process.exit(2);
}

function list(pages: readonly Page[]): number {
  for (const { file, blocks } of pages) {
    for (const { line, text, marker } of blocks) {
      const [first = ""] = text.split("\n");
      if (marker?.kind === "check") process.stdout.write(`${file}:${line}  ${marker.fixture}  ${first}\n`);
      if (marker?.kind === "not checked") process.stdout.write(`${file}:${line}  not checked: ${marker.reason}\n`);
    }
  }
  return 0;
}

async function check(pages: readonly Page[]): Promise<number> {
  const [failed, skipped]: [string[], string[]] = [[], []];
  for (const { file, name, blocks } of pages) {
    for (const fixtureName of fixturesOf(blocks).filter((each) => values.fixture?.includes(each) ?? true)) {
      const kind = await fixtures[fixtureName]?.();
      if (kind === undefined) throw new Error(`${file}: there is no fixture ${fixtureName}`);
      // It says itself what is missing; where peers are required that is a failure.
      if (!(await kind.equipped())) {
        skipped.push(`${name} (${fixtureName})`);
        continue;
      }
      process.stdout.write(`\n${file}\n`);
      const isWhole = await playStage(fixtureName, kind, blocks, (played) => tell(file, played));
      if (!isWhole) failed.push(`${name} (${fixtureName})`);
    }
  }
  if (skipped.length > 0) process.stdout.write(`\nskipped: ${skipped.join(", ")}\n`);
  const verdict =
    failed.length === 0 ? "every command that was run did what its page says" : `failed: ${failed.join(", ")}`;
  process.stdout.write(`\n${verdict}\n`);
  return failed.length === 0 ? 0 : 1;
}

function tell(file: string, { line, title, ms, failure }: Played): void {
  const seconds = `${(ms / 1000).toFixed(1)} s`.padStart(7);
  process.stdout.write(
    `${failure === undefined ? "  ok " : "  NO "} ${seconds}  ${line === 0 ? "" : `${line}: `}${title}\n`,
  );
  if (failure !== undefined) process.stdout.write(`${file}:${line}: ${failure}\n`);
}
