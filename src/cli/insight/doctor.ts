/** `drawbridge doctor`: parse, look around, print. */
import type { Diagnosis } from "../../insight/diagnosis/diagnosis.js";
import type { FlagSet } from "../flags/flag-set.js";
import { quote } from "../flags/go-text.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAdminUrl } from "../tunnel/admin-port-flags.js";
import { addAdminOfDoctor, addDoctorFlags } from "./doctor-flags.js";
import { reportDiagnoses } from "./doctor-report.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Looks for whatever keeps a bridge, or any other part of drawbridge, from working here, and says what to do about it.

Runs on a server's host, beside an agent, a sidecar, an Ignition server, a pool controller or a CSR approver, on an OpenShift
bootstrap host or on a workstation, and asks what makes sense there. It finds a running process' ports, certificates and
admin token in its flags. Why single machines do not become nodes says drawbridge workers doctor. Changes nothing. Ends
with 1 when something is wrong; warnings alone end with 0.`,
  declare,
  check(flags, [word]) {
    if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
    if (flags.admin.value !== "") checkAdminUrl(flags.admin.value);
  },
  run,
};

function declare(set: FlagSet) {
  return { ...addDoctorFlags(set), ...addAdminOfDoctor(set), output: addOutput(set) };
}

async function run(flags: ReturnType<typeof declare>): Promise<number> {
  const [{ diagnose }, { closeContext, doctorContext }, { safeJson }] = await Promise.all([
    import("../../insight/diagnosis/doctor.js"),
    import("./doctor-context.js"),
    import("../../base/text.js"),
  ]);
  const { admin, tokenFile, caFile } = flags;
  const context = await doctorContext(flags, {
    ...{ admin: admin.value, tokenFile: tokenFile.value, caFile: caFile.value },
  });
  let found: Diagnosis[];
  try {
    found = await diagnose(context);
  } finally {
    closeContext(context);
  }
  const sick = found.some(({ state }) => state === "wrong");
  const { role } = context;
  process.stdout.write(
    flags.output.value === "json"
      ? `${safeJson({ role, ok: !sick, checks: found }, 2)}\n`
      : reportDiagnoses(role, found),
  );
  return sick ? 1 : 0;
}

export const doctorCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
