import { expect, test, vi } from "vitest";
import { duration, float, inGroup, list, number, repeated, text, yesNo } from "../flags/flag.js";
import { helpPage, terminalWidth } from "./help.js";

test("help has purpose, usage, examples and flags by group, in pflag's layout and wrapped", () => {
  const flags = {
    name: text("A name.", 'the "one"'),
    empty: text("Nothing."),
    yes: yesNo("On.", true),
    no: yesNo("Off."),
    v: { ...number(4, "How much."), shorthand: "v" },
    rate: float(1.5, "A rate."),
    "keepalive-time": duration("1h", "A time."),
    now: duration("0s", "No time."),
    listen: repeated("An array."),
    old: { ...yesNo("Not shown.", true), deprecated: "gone" },
    "first-name": { ...text("Once."), alias: "second-name" },
    ...inGroup("tls", {
      "a-certificate-with-a-long-name": text("A sentence that is long enough to be continued on the next line."),
    }),
    ...inGroup("advanced", { list: list("A list.", ["a", "b"]) }),
  };
  const purpose = "Does something that takes more than sixty characters to say in full.\n\n  as is\n\nEnds with 0.";
  const examples = ["drawbridge x y", "drawbridge x --name somebody --listen one --listen another"] as const;
  const page = helpPage({ program: "drawbridge x", purpose, words: "FILE", examples, flags }, 60);
  expect(page).toBe(
    [
      "Does something that takes more than sixty characters to say",
      "in full.",
      "",
      "  as is",
      "",
      "Ends with 0.",
      "",
      "Usage:",
      "  drawbridge x FILE [flags]",
      "",
      "Examples:",
      "  drawbridge x y",
      "  drawbridge x --name somebody --listen one --listen \\",
      "    another",
      "",
      "Flags:",
      "      --empty string            Nothing.",
      "      --first-name string       Once.",
      "      --keepalive-time duration",
      "                                A time. (default 1h0m0s)",
      "      --listen stringArray      An array.",
      '      --name string             A name. (default "the',
      '                                \\"one\\"")',
      "      --no                      Off.",
      "      --now duration            No time.",
      "      --rate float32            A rate. (default 1.5)",
      "  -v, --v int                   How much. (default 4)",
      "      --yes                     On. (default true)",
      "",
      "TLS flags:",
      "      --a-certificate-with-a-long-name string",
      "                                A sentence that is long",
      "                                enough to be continued on",
      "                                the next line.",
      "",
      "Advanced flags:",
      "      --list strings            A list. (default [a,b])",
      "",
    ].join("\n"),
  );
});

test("without a terminal, or on one without a size, COLUMNS counts, then 80", () => {
  const columns = process.stdout.columns;
  try {
    for (const [size, given, expected] of [
      [undefined, "70", 70],
      [0, "", 80],
      [undefined, "many", 80],
      [100, "70", 100],
    ] as const) {
      process.stdout.columns = size as number;
      vi.stubEnv("COLUMNS", given);
      expect(terminalWidth()).toBe(expected);
    }
  } finally {
    process.stdout.columns = columns;
    vi.unstubAllEnvs();
  }
});
