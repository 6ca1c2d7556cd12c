import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { TestBundle } from "../../insight/diagnosis/testing/bundle.js";
import bootstrapAnalyze from "./analyze.js";

let bundle: TestBundle;
let out: string;
let err: string;

beforeEach(() => {
  bundle = new TestBundle().bootkube({ "cb-bootstrap": "success" });
  [out, err] = ["", ""];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    err += text;
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  bundle.remove();
});

const analyze = (...argv: string[]) => bootstrapAnalyze.run("drawbridge bootstrap analyze", argv);

describe("drawbridge bootstrap analyze", () => {
  test("ends with 0 when nothing is wrong", async () => {
    expect(await analyze(bundle.pack())).toBe(0);
    expect(out).toMatch(/\(by openshift-install gather bootstrap\)\n\nNothing wrong was found\.\n\nWorth knowing:/);
  });

  test("ends with 1 and prints cause, evidence by file and line, and remedy", async () => {
    bundle.serverLog("starting", "Error: unknown flag: --x", "Error: unknown flag: --x");
    expect(await analyze(bundle.pack())).toBe(1);
    expect(out).toMatch(
      /\nFAILED {3}server-crash-loop: The server ends again and again: unknown flag: --x\. \(certain\)\n +bootstrap\/containers\/konnectivity-server-3d4e5f\.log:3: Error: .*\n +Do: Take the flag out/,
    );
  });

  test("prints findings as JSON with --output json", async () => {
    bundle.serverLog("Error: x", "Error: x");
    expect(await analyze("--output", "json", bundle.folder)).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      kind: "openshift-install",
      findings: [
        { check: "server-crash-loop", likelihood: "certain", evidence: [expect.stringContaining(".log:2: ")] },
      ],
    });
  });

  test("ends with 2 when misused, with 1 and one sentence when it cannot read", async () => {
    expect(await analyze()).toBe(2);
    expect(await analyze("a", "b")).toBe(2);
    expect(await analyze("--output=xml", "a")).toBe(2);
    err = "";
    expect(await analyze("/nowhere")).toBe(1);
    expect(err).toMatch(/^Error: \/nowhere cannot be analysed: it does not exist\. \(DB_BUNDLE: .*\)\n$/);
  });
});
