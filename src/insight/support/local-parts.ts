/** What a bundle tells of drawbridge on this host: doctor's findings and the processes. */
import { safeJson } from "../../base/text.js";
import { diagnose, diagnosisText } from "../diagnosis/doctor.js";
import { processFile, thisHost } from "../diagnosis/host/this-host.js";
import type { DoctorSettings } from "../diagnosis/place.js";
import { programs, titles } from "../diagnosis/programs.js";
import { findingsJson } from "../diagnosis/report.js";
import type { BundlePart } from "./bundle.js";

export function doctorPart(settings: DoctorSettings): BundlePart {
  return {
    name: "doctor",
    async collect() {
      const diagnosis = await diagnose(settings);
      const { role, findings } = diagnosis;
      return [
        { path: "doctor.json", content: `${safeJson(findingsJson({ role }, findings), 2)}\n` },
        { path: "doctor.txt", content: diagnosisText(diagnosis) },
      ];
    },
  };
}

async function runningPrograms() {
  const host = thisHost();
  const found = await Promise.all(programs.map(async (kind) => ({ kind, running: await host.running(kind) })));
  return found.flatMap(({ kind, running }) => (running === undefined ? [] : [{ kind, running }]));
}

/** One line for each process, as text: JSON would be broken by what is taken out of a command line. */
export const processesPart: BundlePart = {
  name: "processes",
  async collect() {
    const lines = (await runningPrograms()).map(
      ({ kind, running: { source, words } }) => `${titles[kind]}, ${source}: ${words.join(" ")}\n`,
    );
    return lines.length === 0 ? [] : [{ path: "processes.txt", content: lines.join("") }];
  },
};

/** The admin tokens of the processes that run here: logs and configurations must not give them away. */
export async function tokensInUse(): Promise<string[]> {
  const tokens = (await runningPrograms()).map(async ({ running: { flags, pid } }) => {
    const file = flags.get("admin-token-file");
    return file && thisHost().readText(processFile(pid, file));
  });
  return (await Promise.all(tokens)).flatMap((token) => token || []);
}
