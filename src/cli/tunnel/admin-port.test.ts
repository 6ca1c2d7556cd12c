import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import explain from "../insight/explain.js";
import status from "../insight/status.js";
import support from "../insight/support.js";
import top from "../insight/top.js";
import trace from "../insight/trace.js";
import { captureOutput } from "../testing/output.js";

const said = captureOutput();
const ADMIN = "--admin=http://127.0.0.1:1";
const HERE = import.meta.filename;

test.each([
  ["top", top, []],
  ["status", status, []],
  ["explain", explain, ["10.0.0.1:443"]],
  ["trace", trace, ["10.0.0.1:443"]],
  ["support", support, [`--out=${tmpdir()}/drawbridge-never-written`]],
] as const)(
  "%s names the flag of a file that cannot be read, why, and what to give it",
  async (name, command, words) => {
    const run = (...flags: string[]) => command.run(`drawbridge ${name}`, [...words, ADMIN, ...flags]);
    expect(await run("--token-file=/nowhere/token")).toBe(2);
    expect(await run(`--token-file=${tmpdir()}`)).toBe(2);
    expect(await run(`--token-file=${HERE}`, "--ca-file=/nowhere/ca")).toBe(2);
    const token =
      "Give --token-file, or DRAWBRIDGE_ADMIN_TOKEN_FILE, the file that the process was given with --admin-token-file.";
    const ca = "Give --ca-file the file of the CA that issued the admin port's certificate.";
    const lines = said.stderr.trim().split("\n");
    expect(lines).toEqual([
      expect.stringContaining(`/nowhere/token cannot be read: it does not exist. (DB_FLAG_VALUE: ${token})`),
      expect.stringContaining(`${tmpdir()} cannot be read: it is a directory. (DB_FLAG_VALUE: ${token})`),
      expect.stringContaining(`/nowhere/ca cannot be read: it does not exist. (DB_FLAG_VALUE: ${ca})`),
    ]);
  },
);
