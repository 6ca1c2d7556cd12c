/** The record of one run of a service of the bootstrap host, as the installer writes it. */
export function serviceRun(
  stages: Readonly<Record<string, "success" | "failure" | "open">>,
  errorMessage = "",
): Record<string, string>[] {
  const entries: Record<string, string>[] = [{ phase: "service start" }];
  for (const [stage, result] of Object.entries(stages)) {
    entries.push({ phase: "stage start", stage });
    if (result === "open") continue;
    const failed = result === "failure" ? { errorLine: "42 main", ...(errorMessage && { errorMessage }) } : {};
    entries.push({ phase: "stage end", stage, result, ...failed });
  }
  const results = Object.values(stages);
  if (results.at(-1) === "failure") entries.push({ phase: "service end", result: "failure", errorMessage: "exit 1" });
  else if (!results.includes("open")) entries.push({ phase: "service end", result: "success" });
  return entries.map((entry, index) => ({
    timestamp: new Date(Date.UTC(2026, 10, 16, 0, 0, index)).toISOString().replace(".000", ""),
    ...entry,
  }));
}
