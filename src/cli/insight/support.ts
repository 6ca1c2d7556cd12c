/** `drawbridge support`: one archive for a support case, without secrets. */
import { type SupportManifest, writeBundle } from "../../insight/support/bundle.js";
import * as parts from "../../insight/support/parts.js";
import { AdminPort } from "../../insight/watch/admin-port.js";
import { filePath, inGroup, repeated, type Values } from "../flags/flag.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand, type Environment, VERSION } from "../framework/define.js";
import { checkAdminUrl, readCa, readToken } from "../tunnel/admin-port.js";
import { doctorSettings, placeFlags } from "./doctor.js";

const supportFlags = ({ DRAWBRIDGE_ADMIN_TOKEN_FILE: token }: Environment) => ({
  ...placeFlags,
  out: filePath("Archive to write. If empty, drawbridge-support-TIME.tar.gz in this directory."),
  admin: repeated("Admin port of a process, http://127.0.0.1:8095 say; repeatable."),
  "token-file": repeated(
    "File with the admin token; one for all, or one for each --admin in the same order. If empty, DRAWBRIDGE_ADMIN_TOKEN_FILE.",
    token ? [token] : [],
  ),
  "log-file": repeated("Log whose end goes into the archive; repeatable."),
  "config-file": repeated("Configuration whose text goes into the archive; repeatable."),
  ...inGroup("tls", {
    "ca-file": filePath("CA bundle that signed the admin ports' certificates. If empty, the system's authorities."),
  }),
});

export default defineCommand({
  purpose: `Writes an archive that explains an installation in a support case: version and platform, what drawbridge doctor finds
here, the command lines of drawbridge's processes, and for each --admin the process' state, metrics and flight recorder.
The ends of logs and the texts of configurations come from --log-file and --config-file.

Private keys, tokens, passwords and kubeconfigs' credentials are taken out, or the file is left out: manifest.json lists
what is in the archive, what was taken out of it, and what could not be collected. Review it before you hand it on: names
of hosts and addresses stay. The archive is written whole or not at all, for its owner only. Ends with 1 when something
that a flag named could not be collected. For the bridge of a bootstrap there is more in drawbridge bootstrap gather.`,
  examples: [
    "drawbridge support",
    "drawbridge support --out support.tar.gz --admin http://127.0.0.1:8095 --token-file token",
  ],
  flags: supportFlags,
  async run(flags, { given }) {
    const { admin, configFile, logFile, tokenFile } = flags;
    check(flags);
    const now = new Date();
    const out = flags.out || `drawbridge-support-${now.toISOString().replace(/[-:]|\..*$/g, "")}.tar.gz`;
    const ca = await readCa(flags.caFile);
    const tokens = await Promise.all(tokenFile.map(async (file) => (await readToken(file)).trim()));
    const ports = admin.map(
      (url, index) =>
        new AdminPort({ url: new URL(url), token: tokens[index] ?? tokens[0] ?? "", ca, caFile: flags.caFile }),
    );
    const manifest = await writeBundle({
      ...{ out, version: VERSION, now, secrets: [...tokens, ...(await parts.tokensInUse())] },
      parts: [
        parts.platformPart(VERSION),
        // It asks the process that runs here: those of --admin are in the bundle themselves.
        parts.doctorPart(doctorSettings(flags, given)),
        parts.processesPart,
        ...ports.flatMap(parts.adminParts),
        ...logFile.map(parts.logPart),
        ...configFile.map(parts.configPart),
      ],
    });
    return { out, ...manifest };
  },
  show: supportText,
  exitCode: ({ missing }) => (missing.length > 0 ? 1 : 0),
});

function check({ admin, tokenFile }: Values<ReturnType<typeof supportFlags>>): void {
  for (const url of admin) checkAdminUrl(url);
  if (admin.length > 0 && tokenFile.length === 0)
    throw missing("--token-file is missing: the file of the processes' --admin-token-file");
  if (tokenFile.length > 1 && tokenFile.length !== admin.length)
    throw refused("--token-file goes with every --admin: give one for all of them, or one for each in the same order");
}

function supportText({ out, files, leftOut, missing }: SupportManifest & { readonly out: string }): string {
  return [
    `${out} has ${files.length} files:`,
    ...files.map(({ path, bytes, redacted, cut }) => {
      const marks = `${redacted ? ", secrets removed" : ""}${cut ? ", only a part" : ""}`;
      return `  ${path} (${bytes} bytes${marks})`;
    }),
    ...leftOut.map(({ path, why }) => `left out: ${path}: ${why}`),
    ...missing.map(({ name, why }) => `could not be had: ${name}: ${why}`),
    "",
  ].join("\n");
}
