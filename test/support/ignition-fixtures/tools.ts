import { spawnSync } from "node:child_process";

/** Programs that the injected scripts or their tests need, with the Debian package of each. */
const PACKAGES = {
  ...{ bash: "bash", ip: "iproute2", jq: "jq", openssl: "openssl", shellcheck: "shellcheck" },
  "systemd-analyze": "systemd",
} as const;

/** When one is missing, one line says so, or it is a failure (DRAWBRIDGE_REQUIRE_PEERS=1). */
export function hasTools(...names: (keyof typeof PACKAGES)[]): boolean {
  const missing = names.filter((name) => spawnSync(name, ["--version"]).error !== undefined);
  if (missing.length === 0) return true;
  const message = `${missing.join(", ")} missing: apt-get install ${missing.map((name) => PACKAGES[name]).join(" ")}.`;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(message);
  process.stderr.write(`skipped: ${message}\n`);
  return false;
}
