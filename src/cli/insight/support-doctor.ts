/** Doctor's findings and the processes on this host, as parts of a support bundle. */
import { programs, titles } from "../../insight/diagnosis/programs.js";
import type { Part } from "../../insight/support/bundle.js";
import { doctorSettings, type PlaceFlags } from "./doctor.js";

export function doctorPart(flags: PlaceFlags, given: ReadonlySet<string>): Part {
  return {
    name: "doctor",
    async collect() {
      const [{ diagnose, diagnosisText }, { findingsJson }] = await Promise.all([
        import("../../insight/diagnosis/doctor.js"),
        import("../../insight/diagnosis/report.js"),
      ]);
      // It asks the process that runs here: those of --admin are in the bundle themselves.
      const diagnosis = await diagnose(doctorSettings(flags, given));
      return [
        { path: "doctor.json", content: findingsJson({ role: diagnosis.role }, diagnosis.findings) },
        { path: "doctor.txt", content: diagnosisText(diagnosis) },
      ];
    },
  };
}

/** One line for each process, as text: JSON would be broken by what is taken out of a command line. */
export const processesPart: Part = {
  name: "processes",
  async collect() {
    const { thisHost } = await import("../../insight/diagnosis/host/this-host.js");
    const host = thisHost();
    const lines: string[] = [];
    for (const program of programs) {
      const running = await host.running(program);
      if (running !== undefined) lines.push(`${titles[program]}, ${running.source}: ${running.words.join(" ")}\n`);
    }
    return lines.length === 0 ? [] : [{ path: "processes.txt", content: lines.join("") }];
  },
};

/** The admin tokens of the processes that run here: logs and configurations must not give them away. */
export async function tokensInUse(): Promise<string[]> {
  const { processFile, thisHost } = await import("../../insight/diagnosis/host/this-host.js");
  const host = thisHost();
  const found: string[] = [];
  for (const program of programs) {
    const running = await host.running(program);
    const file = running?.flags.get("admin-token-file");
    const token = file && running && (await host.readText(processFile(running.pid, file)).catch(() => undefined));
    if (token) found.push(token);
  }
  return found;
}
