/** `drawbridge doctor` */
import { hasFailed } from "../../base/finding.js";
import type { FlagSet } from "../flags/flag-set.js";
import { quote } from "../flags/go-text.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { checkAdminUrl } from "../tunnel/admin-port-flags.js";
import { addAdminOfDoctor, addDoctorFlags, doctorSettings } from "./doctor-flags.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Looks for whatever keeps a bridge, or any other part of drawbridge, from working here, and says what to do about it.

It runs on a server's host, beside an agent, a sidecar, an Ignition server, a pool controller or a CSR approver, on an
OpenShift bootstrap host or on a workstation, and checks what makes sense there. It finds a running process' ports,
certificates and admin token in its flags. drawbridge workers doctor explains why single machines do not become nodes.
Doctor changes nothing. It ends with 1 when a check failed; warnings alone end with 0.`,
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
  const [{ diagnose, placeOf }, { closeContext, openContext }, { findingsJson, findingsText }] = await Promise.all([
    import("../../insight/diagnosis/doctor.js"),
    import("../../insight/diagnosis/open-context.js"),
    import("../../insight/diagnosis/report.js"),
  ]);
  const context = await openContext(doctorSettings(flags, flags));
  const { role } = context;
  const findings = await diagnose(context).finally(() => closeContext(context));
  const text = () => `${placeOf(role)}\n\n${findingsText(findings)}`;
  process.stdout.write(flags.output.value === "json" ? findingsJson({ role }, findings) : text());
  return hasFailed(findings) ? 1 : 0;
}

export const doctorCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
