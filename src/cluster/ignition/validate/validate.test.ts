import { describe, expect, test } from "vitest";
import { rules } from "../../../../test/interop/ignition/corpus/index.js";
import { type Case, DECLARED_MINOR, textOf } from "../../../../test/interop/ignition/corpus/rule.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { readConfig } from "../parse.js";
import { findingText } from "../problems.js";

/** The errors, one a line; empty for a config that is accepted. */
function objections(body: Case, minor = DECLARED_MINOR): string {
  try {
    const { findings } = readConfig(textOf(body, minor));
    return findings
      .filter(({ severity }) => severity === "error")
      .map(findingText)
      .join("\n");
  } catch (error) {
    if (error instanceof DrawbridgeError) return error.message;
    throw error;
  }
}

// Whether the real Ignition draws the same line is what test/interop/ignition asks.
describe.each(rules)("$rule", ({ accept, reject }) => {
  test.each(accept.map((body) => [shortened(body), body] as const))("accepts %s", (_, body) => {
    expect(objections(body)).toBe("");
  });
  test.each(reject.map((body) => [shortened(body), body] as const))("refuses %s", (_, body) => {
    expect(objections(body)).not.toBe("");
  });
});

function shortened(body: Case): string {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
