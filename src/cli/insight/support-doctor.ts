/** What doctor sees, as parts of a bundle. */
import type { Part } from "../../insight/support/bundle.js";
import type { DoctorFlags } from "./doctor-flags.js";

export function doctorPart(flags: DoctorFlags): Part {
  return {
    name: "doctor",
    async collect() {
      const [{ diagnose }, { closeContext, doctorContext }, { reportDiagnoses }] = await Promise.all([
        import("../../insight/diagnosis/doctor.js"),
        import("./doctor-context.js"),
        import("./doctor-report.js"),
      ]);
      // Whom it asks is whoever runs here: those of --admin are in the bundle themselves.
      const context = await doctorContext(flags, { admin: "", tokenFile: "", caFile: "" });
      try {
        const checks = await diagnose(context);
        const { role } = context;
        return [
          { path: "doctor.json", content: `${JSON.stringify({ role, checks }, null, 1)}\n` },
          { path: "doctor.txt", content: reportDiagnoses(role, checks) },
        ];
      } finally {
        closeContext(context);
      }
    },
  };
}

/** One line a process, as text: what is taken out of a command line would leave broken JSON. */
export const processesPart: Part = {
  name: "processes",
  async collect() {
    const [{ thisHost }, { programs, titles }] = await Promise.all([
      import("../../insight/diagnosis/host/this-host.js"),
      import("../../insight/diagnosis/program.js"),
    ]);
    const host = thisHost();
    const lines: string[] = [];
    for (const program of programs) {
      const running = await host.running(program);
      if (running !== undefined) lines.push(`${titles[program]}, ${running.source}: ${running.words.join(" ")}\n`);
    }
    return lines.length === 0 ? [] : [{ path: "processes.txt", content: lines.join("") }];
  },
};

/** The admin tokens of whoever runs here: logs and configurations must not give them away. */
export async function tokensInUse(): Promise<string[]> {
  const [{ thisHost }, { programs }, { processFile }] = await Promise.all([
    import("../../insight/diagnosis/host/this-host.js"),
    import("../../insight/diagnosis/program.js"),
    import("../../insight/diagnosis/host/process-file.js"),
  ]);
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
