/** Directories that are the bridge's alone. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import type { Opened } from "../opened.js";
import type { Site } from "../site.js";
import type { Step } from "../step.js";

export function directoriesStep({ host, model }: Site): Step {
  // The certificates' directory appears together with what is in it.
  const own = model.paths.ownDirectories.filter(({ path }) => path !== model.paths.pki.host);
  const { files } = host;
  return {
    name: "directories",
    title: "Directories",
    async makes() {
      const parents = await Promise.all(own.map(({ path }) => files.missingAbove(path)));
      return [
        ...parents.flat().map((path): Opened => ({ type: "parent", path })),
        ...own.map(({ path }): Opened => ({ type: "directory", path })),
      ];
    },
    async check() {
      for (const { path, mode } of own) {
        const look = await files.look(path);
        if (look === undefined) return { state: "missing", detail: `${path} is not there` };
        if (look.kind !== "directory") return { state: "wrong", detail: `${path} is not a directory` };
        if (look.mode !== mode)
          return { state: "wrong", detail: `${path} has mode ${octal(look.mode)}, not ${octal(mode)}` };
      }
      return { state: "done", detail: own.map(({ path }) => path).join(", ") };
    },
    async do() {
      for (const { path, mode } of own) {
        const look = await files.look(path);
        if (look !== undefined && look.kind !== "directory") {
          throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} is there already and is not a directory.`);
        }
        for (const parent of await files.missingAbove(path)) await files.makeDirectory(parent, 0o755);
        const isSockets = path === model.paths.socketDirectory.host;
        await files.makeDirectory(path, mode, isSockets ? model.server.socketGroup : undefined);
      }
    },
  };
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}
