/** Which drawbridge this is, and what it runs on. */
import about from "../../../package.json" with { type: "json" };

/** drawbridge's own version, which the build puts into the executables. */
export const VERSION = about.version;

export interface VersionFacts {
  readonly version: string;
  /** Of the sources; empty where they are run without having been built. */
  readonly commit: string;
  readonly node: string;
  readonly platform: string;
}

export const versionFacts = (): VersionFacts => ({
  version: VERSION,
  // The build puts the commit in the place of this variable (scripts/bundling.mjs).
  commit: process.env.DRAWBRIDGE_COMMIT ?? "",
  node: process.versions.node,
  platform: `${process.platform}-${process.arch}`,
});

/** `proxy-server 0.1.0 (drawbridge, commit 0a1b2c3d4e5f, Node 22.11.0, linux-x64)` */
export function versionText(program: string): string {
  const [name = ""] = program.split(" ");
  const { version, commit, node, platform } = versionFacts();
  const more = [
    ...(name === "drawbridge" ? [] : ["drawbridge"]),
    ...(commit === "" ? [] : [`commit ${commit}`]),
    ...[`Node ${node}`, platform],
  ];
  return `${name} ${version} (${more.join(", ")})\n`;
}
