/** What the controllers of machines log of a failure: the sentence, its code and what to do. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { ours } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";

const scope = new Scope();
afterEach(() => scope.close());

test.each([
  ["nodepool", "controller"],
  ["csr", "approver"],
])("%s %s logs a failure with its code and remedy", async (...command) => {
  // A relative path: redaction takes some random names for secrets.
  const args = [...command, "--directory", "absent"];
  const child = spawn(ours("drawbridge"), args, { cwd: scope.tempDir(), stdio: ["ignore", "ignore", "pipe"] });
  scope.defer(() => void child.kill("SIGKILL"));
  let log = "";
  while (!log.includes("cannot be held")) log += String((await once(child.stderr, "data"))[0]);
  expect(log).toMatch(
    /absent cannot be used: it does not exist; create it.* code="DB_NODEPOOL_DIRECTORY" remedy="Correct what/,
  );
});
