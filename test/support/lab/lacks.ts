import { builtPeers, systemPeers } from "../../../peers/catalogue.js";
import { peerPath } from "../../../peers/index.js";
import { isExecutable, packageOf, type Tool, toolPath } from "./tools.js";

export interface Wanted {
  /** Real components by the names peers/ gives them. */
  readonly peers: readonly string[];
  readonly tools: readonly Tool[];
  /** Files that a Debian package brings, with the package. */
  readonly files: readonly (readonly [path: string, debianPackage: string])[];
}

/** One sentence that names everything that is not there and the commands that bring it; undefined when nothing is missing. */
export function lacks({ peers, tools, files }: Wanted): string | undefined {
  const missingPeers = peers.filter((name) => peerPath(name) === undefined);
  const missingTools = tools.filter((tool) => toolPath(tool) === undefined);
  const missingFiles = files.filter(([path]) => !isExecutable(path));
  const toBuild = missingPeers.filter((name) => builtPeers.some((peer) => peer.name === name));
  const packages = new Set([
    ...missingPeers.flatMap((name) => systemPeers.get(name) ?? []),
    ...missingTools.map(packageOf),
    ...missingFiles.map(([, debianPackage]) => debianPackage),
  ]);
  const commands = [
    ...(toBuild.length > 0 ? [`npm run peers -- ${toBuild.join(" ")} (needs Go)`] : []),
    ...(packages.size > 0 ? [`.ci/install-packages (Debian: ${[...packages].join(" ")})`] : []),
  ];
  const names = [...missingPeers, ...missingTools, ...missingFiles.map(([path]) => path)];
  return names.length === 0 ? undefined : `${names.join(", ")} missing: run ${commands.join(" and ")}.`;
}
