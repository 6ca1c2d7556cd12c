/** The machine and the program that drawbridge runs on. */
import type { DoctorContext } from "../context.js";
import { type Check, ok, roles, skipped, warning, wrong } from "../diagnosis.js";
import { programOf, titles } from "../program.js";

const oldest = [20, 19] as const;

export const nodeVersion: Check<DoctorContext> = {
  id: "node-version",
  roles,
  run: async () => [judgeNode(process.versions.node)],
};

export function judgeNode(version: string) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const recent = major > oldest[0] || (major === oldest[0] && minor >= oldest[1]);
  return recent
    ? ok(`Node ${version} is recent enough`)
    : wrong(`Node ${version} is older than ${oldest.join(".")}`, `Install Node ${oldest.join(".")} or newer.`);
}

const FIPS_FILE = "/proc/sys/crypto/fips_enabled";

export const fips: Check<DoctorContext> = {
  id: "fips",
  roles,
  async run({ host }) {
    const enabled = await host.readText(FIPS_FILE);
    if (enabled === undefined) return [skipped(`${FIPS_FILE} does not exist here`)];
    if (enabled.trim() !== "1") return [ok("this host is not in FIPS mode")];
    return [
      warning(
        "this host is in FIPS mode, and the OpenSSL that Node brings is not a validated module",
        "Run the payload's programs: drawbridge bootstrap inject --image-kind payload (the default on OpenShift), or drawbridge bootstrap render --image-kind payload --image PULLSPEC.",
        `${FIPS_FILE}: 1`,
      ),
    ];
  },
};

const ENOUGH = 4_096;

export const openFiles: Check<DoctorContext> = {
  id: "open-files",
  roles: roles.filter((role) => programOf(role) !== undefined),
  async run({ host, role }) {
    const program = programOf(role) ?? "server";
    const running = await host.running(program);
    const path = `/proc/${running?.pid ?? "self"}/limits`;
    const line = (await host.readText(path))?.split("\n").find((text) => text.startsWith("Max open files"));
    const soft = /^Max open files\s+(\d+|unlimited)/.exec(line ?? "")?.[1];
    if (soft === undefined) return [skipped(`${path} cannot be read`)];
    const who =
      running === undefined ? "a program started from here" : `the running ${titles[program]} (${running.source})`;
    if (soft === "unlimited" || Number(soft) >= ENOUGH) return [ok(`${who} may open ${soft} files`)];
    return [
      warning(
        `${who} may open only ${soft} files, and every tunnel takes one or two`,
        "Write LimitNOFILE=1048576 into its unit, or run ulimit -n 65536 before it starts.",
        `${path}: ${line?.replace(/\s+/g, " ").trim()}`,
      ),
    ];
  },
};
