/** `drawbridge support`: one archive for whoever is to help, without secrets. */
import { readFile } from "node:fs/promises";
import { messageOf } from "../../base/errors/error.js";
import type { SupportManifest } from "../../insight/support/bundle.js";
import type { FlagSet } from "../flags/flag-set.js";
import { string, stringArray } from "../flags/flag-value.js";
import { quote } from "../flags/go-text.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { version } from "../framework/version.js";
import { checkAdminUrl } from "../tunnel/admin-port-flags.js";
import { addDoctorFlags } from "./doctor-flags.js";
import { doctorPart, processesPart, tokensInUse } from "./support-doctor.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Writes an archive that explains an installation to whoever is to help: version and platform, what drawbridge doctor finds
here, the command lines of drawbridge's processes, and for each --admin the process' state, metrics and flight recorder.
The ends of logs and the texts of configurations come from --log-file and --config-file.

Private keys, tokens, passwords and kubeconfigs' credentials are taken out, or the file is left out: manifest.json lists
what is in the archive, what was taken out of it, and what could not be had. Look through it before you hand it on: names
of hosts and addresses stay. The archive is written whole or not at all, for its owner only. Ends with 1 when something
that a flag named could not be had. For the bridge of a bootstrap there is more in drawbridge bootstrap gather.`,
  declare,
  check(flags, [word]) {
    if (word !== undefined) throw refused(`${quote(word)} belongs to no flag`);
    if (flags.out.value === "") throw refused("--out must name the archive to write, support.tar.gz say");
    for (const url of flags.admin.value) checkAdminUrl(url);
    const { length } = flags.tokenFile.value;
    if (flags.admin.value.length > 0 && length === 0)
      throw refused("--token-file must name the file of the processes' --admin-token-file");
    if (length > 1 && length !== flags.admin.value.length)
      throw refused(
        "--token-file goes with every --admin: give one for all of them, or one for each in the same order",
      );
  },
  run,
};

function declare(set: FlagSet) {
  const several = (name: string, usage: string, values: readonly string[] = []) =>
    set.add(name, stringArray, values, usage);
  const token = process.env.DRAWBRIDGE_ADMIN_TOKEN_FILE;
  return {
    out: set.add("out", string, "", "Archive to write (.tar.gz). Required."),
    admin: several("admin", "Admin port of a process, http://127.0.0.1:8095 say; repeatable."),
    tokenFile: several(
      "token-file",
      "File with the admin token; one for all, or one for each --admin in the same order. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE.",
      token ? [token] : [],
    ),
    caFile: set.add("ca-file", string, "", "Who signed the admin ports' certificates. If empty, the system's."),
    logFile: several("log-file", "Log of which the end goes into the archive; repeatable."),
    configFile: several("config-file", "Configuration whose text goes into the archive; repeatable."),
    ...addDoctorFlags(set),
    output: addOutput(set),
  };
}

async function run(flags: ReturnType<typeof declare>): Promise<number> {
  const [{ writeBundle }, { adminParts, configPart, logPart, platformPart }, { AdminPort }] = await Promise.all([
    import("../../insight/support/bundle.js"),
    import("../../insight/support/parts.js"),
    import("../../insight/watch/admin-port.js"),
  ]);
  const ca = flags.caFile.value === "" ? undefined : await read(flags.caFile.value);
  const tokens = await Promise.all(flags.tokenFile.value.map(async (file) => (await read(file)).trim()));
  const ports = flags.admin.value.map(
    (url, index) => new AdminPort({ url: new URL(url), token: tokens[index] ?? tokens[0] ?? "", ca }),
  );
  const out = flags.out.value;
  const manifest = await writeBundle({
    ...{ out, version: version(), now: new Date(), secrets: [...tokens, ...(await tokensInUse())] },
    parts: [
      platformPart(version()),
      doctorPart(flags),
      processesPart,
      ...ports.flatMap(adminParts),
      ...flags.logFile.value.map(logPart),
      ...flags.configFile.value.map(configPart),
    ],
  });
  process.stdout.write(
    flags.output.value === "json" ? `${JSON.stringify({ out, ...manifest }, null, 2)}\n` : supportText(out, manifest),
  );
  return manifest.missing.length > 0 ? 1 : 0;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (reason) {
    throw refused(`${path} cannot be read: ${messageOf(reason)}`);
  }
}

export function supportText(out: string, { files, leftOut, missing }: SupportManifest): string {
  const marks = ({ redacted, cut }: SupportManifest["files"][number]): string =>
    [redacted ? ", secrets removed" : "", cut ? ", only a part" : ""].join("");
  return [
    `${out} has ${files.length} files:`,
    ...files.map((file) => `  ${file.path} (${file.bytes} bytes${marks(file)})`),
    ...leftOut.map(({ path, why }) => `left out: ${path}: ${why}`),
    ...missing.map(({ name, why }) => `could not be had: ${name}: ${why}`),
    "",
  ].join("\n");
}

export const supportCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
