type Verdict = "PASS" | "FAIL" | "SKIP";
export type Report = ReadonlyMap<string, Verdict>;

/** Reads `-test.v` output. Only top-level tests count; one that began and never ended (a crash, a time limit) failed. */
export function parseReport(output: string): Report {
  const report = new Map<string, Verdict>();
  for (const line of output.split("\n")) {
    const begun = /^=== RUN\s+(Test\w+)$/.exec(line)?.[1];
    if (begun !== undefined) report.set(begun, "FAIL");
    const [, verdict, name] = /^--- (PASS|FAIL|SKIP): (Test\w+) \(/.exec(line) ?? [];
    if (name !== undefined) report.set(name, verdict as Verdict);
  }
  return report;
}

export function formatReport(report: Report): string {
  const lines = [...report].map(([name, verdict]) => `${verdict}  ${name}`);
  const passed = [...report.values()].filter((verdict) => verdict === "PASS").length;
  return [...lines, `${passed} of ${report.size} pass`].join("\n");
}
