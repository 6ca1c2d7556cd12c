import { describe, expect, test } from "vitest";
import { inspectRequest } from "./inspect-request.js";
import { readOneBlock } from "./pem.js";
import { asPem, craftedRequest, nodeSubject } from "./testing/crafted.js";

const label = "CERTIFICATE REQUEST";
const begin = `-----BEGIN ${label}-----`;
const end = `-----END ${label}-----`;

/** With two characters of padding, for those who split it. */
function forged(): Buffer {
  for (;;) {
    const der = craftedRequest({ subject: nodeSubject("control-plane-0") });
    if (der.length % 3 === 1) return der;
  }
}

const harmless = asPem(craftedRequest());
const other = asPem(forged());
const body = harmless.split("\n").slice(1, -2);

describe("a request behind another that our reader used to pass over", () => {
  test.each([
    ["hidden by a PEM header with dashes", other.replace(`${begin}\n`, `${begin}\nX: -----\n\n`) + harmless],
    ["hidden by padding in two lines", other.replace("==\n", "=\n=\n") + harmless],
    ["in plain sight", other + harmless],
  ])("%s, is not judged", (_, text) => {
    expect(() => inspectRequest(text)).toThrow("a second PEM block follows the first");
  });
});

describe("the one spelling", () => {
  test("is what Go and OpenSSL write, with its last line feed or without", () => {
    const der = Buffer.from(body.join(""), "base64");
    expect(readOneBlock(harmless, label)).toEqual(der);
    expect(readOneBlock(harmless.trimEnd(), label)).toEqual(der);
  });

  const odd = (change: (lines: string[]) => readonly string[]): string => {
    const lines = harmless.split("\n");
    return change(lines).join("\n");
  };
  const joined = body.join("");
  const unpadded = joined.replace(/=+$/, "");

  test.each([
    ["it is empty", ""],
    ["it does not begin with the line", "hello"],
    ["a carriage return", harmless.replaceAll("\n", "\r\n")],
    ["a tab", harmless.replace("\n", "\t\n")],
    ["a NUL byte", `${harmless}\0`],
    ["a byte order mark", `\xef\xbb\xbf${harmless}`],
    ["the character 0x0C", harmless.replace("M", "\fM")],
    ["there is text before its BEGIN line", `\n${harmless}`],
    ["there is text before its BEGIN line", `subject=CN = x\n${harmless}`],
    ['its block is "NEW CERTIFICATE REQUEST"', harmless.replaceAll(label, `NEW ${label}`)],
    ['its block is "CERTIFICATE"', harmless.replaceAll(label, "CERTIFICATE")],
    ["its END line is not the one", harmless.replace(end, "-----END CERTIFICATE-----")],
    ["it has no line -----END", harmless.replace(end, "")],
    ["a second PEM block", harmless + harmless],
    ["there is text after its END line", `${harmless}\n`],
    ["there is text after its END line", `${harmless}x`],
    ["a line of dashes is inside", odd(([first, ...rest]) => [first!, first!, ...rest])],
    ["a line of dashes is inside", odd(([first, ...rest]) => [first!, "X: -----", "", ...rest])],
    ["it has a PEM header", odd(([first, ...rest]) => [first!, "Proc-Type: 4,CLEAR", "", ...rest])],
    ["there is a space inside its base64", harmless.replace("\nM", "\n M")],
    ["other characters than those of base64", harmless.replace("\nM", "\n_")],
    ["padding of its base64 is not at the end", [begin, "AA==", ...body, end, ""].join("\n")],
    ["padding of its base64 is not at the end", [begin, "AA=", "=", end, ""].join("\n")],
    ["not in lines of 64 characters", [begin, joined, end, ""].join("\n")],
    ["not in lines of 64 characters", [begin, "", ...body, end, ""].join("\n")],
    ["not in lines of 64 characters", [begin, ...body, "", end, ""].join("\n")],
    ["its block is empty", [begin, end, ""].join("\n")],
    ["not the one spelling of its bytes", [begin, "AA", end, ""].join("\n")],
    ["not the one spelling of its bytes", [begin, "AB==", end, ""].join("\n")],
    ["not the one spelling of its bytes", [begin, `${unpadded.slice(0, 5)}`, end, ""].join("\n")],
  ])("%s: anything else is refused by what is odd", (why, text) => {
    expect(() => readOneBlock(text, label)).toThrow(why);
  });
});
