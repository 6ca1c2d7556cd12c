/** The completion scripts in the shells that they are for. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { scripts } from "./scripts.js";

vi.setConfig({ testTimeout: 120_000 });

const has = (shell: string) => spawnSync(shell, ["--version"]).status === 0;
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "db-shells-"));
  for (const name of ["drawbridge", "proxy-server"]) {
    const module = fileURLToPath(new URL(`../${name}.ts`, import.meta.url));
    const tsx = import.meta.resolve("tsx");
    const program = join(folder, name);
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" --import "${tsx}" "${module}" "$@"\n`);
    chmodSync(program, 0o755);
  }
  for (const [shell, script] of Object.entries(scripts)) writeFileSync(join(folder, `script.${shell}`), script);
  for (const name of ["agent.crt", "agent.key"]) writeFileSync(join(folder, name), "");
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(shell: string, ...argv: string[]): string {
  const { stdout, stderr, error } = spawnSync(shell, argv, {
    ...{ cwd: folder, encoding: "utf8", timeout: 100_000 },
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, HOME: folder, TERM: "dumb" },
  });
  if (error !== undefined) throw error;
  expect(stderr).toBe("");
  return stdout;
}

const CASES = [
  ["drawbridge pk", ["pki"]],
  ["drawbridge pki is", ["issue"]],
  ["drawbridge doctor -o j", ["json"]],
  ["drawbridge server --cluster-cert agent.", ["agent.crt", "agent.key"]],
  ["proxy-server --mod", ["--mode"]],
  ["drawbridge nonsense --", []],
] as const;

test.skipIf(!has("bash"))("bash", () => {
  const typed = [...CASES, ["drawbridge doctor --output=j", ["json"]]] as const;
  const tries = typed.map(
    ([line]) => `COMP_LINE=${JSON.stringify(line)} COMP_POINT=${line.length}
    _drawbridge; printf '%s\\n' "\${COMPREPLY[*]}"`,
  );
  const shown = run("bash", "--norc", "-c", ["source ./script.bash", ...tries].join("\n")).split("\n");
  const sorted = shown.slice(0, -1).map((line) => line.split(" ").toSorted().join(" "));
  expect(sorted).toEqual(typed.map(([, expected]) => expected.join(" ")));
});

test.skipIf(!has("fish"))("fish", () => {
  const typed = [...CASES.slice(0, 5), ["drawbridge doctor --output=j", ["--output=json"]]] as const;
  const tries = typed.map(([line]) => `complete -C ${JSON.stringify(line)} | string replace -r '\\t.*' ''; echo .`);
  const shown = run("fish", "--no-config", "-c", ["source script.fish", ...tries].join("\n"));
  expect(shown.split(".\n").slice(0, -1)).toEqual(
    typed.map(([, expected]) => expected.map((each) => `${each}\n`).join("")),
  );
});

/** A shell within a terminal of the shell's own, into which a person's keys are typed. */
const zshTyping = (line: string, becomes: string) => `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; autoload -U compinit; compinit -u -D; source ./script.zsh; bindkey '^I' complete-word; print RE''ADY"
zpty -r -m z seen "*READY*"
zpty -n -w z ${JSON.stringify(line)}$'\\t'
zpty -r -m z seen ${JSON.stringify(`*${becomes}*`)} && print found
zpty -d z`;

test.skipIf(!has("zsh")).each([
  ["drawbridge pk", "pki "],
  ["drawbridge doctor --output=j", "json "],
  ["drawbridge server --cluster-cert=agent.c", "rt "],
])("zsh completes %s by %s", (line, becomes) => {
  expect(run("zsh", "-f", "-c", zshTyping(line, becomes))).toBe("found\n");
});
