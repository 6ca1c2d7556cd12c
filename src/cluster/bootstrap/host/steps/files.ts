/** A rendered file in its place on the host. */
import { DrawbridgeError } from "../../../../base/errors/error.js";
import { renderedFiles } from "../../render/render.js";
import type { RenderedFile } from "../../render/rendered-file.js";
import type { Host } from "../host.js";
import type { Opened } from "../opened.js";
import type { Site } from "../site.js";
import type { Step, StepState } from "../step.js";

export function fileStep({ host }: Site, name: string, title: string, file: PlacedFile): Step {
  return {
    name,
    title,
    makes: async () => [...(await parentsOf(host, file)), { type: "file", path: file.path }],
    check: () => checkFile(host, file),
    do: () => putFile(host, file),
  };
}

export type PlacedFile = RenderedFile & { readonly path: string };

/** The rendered file that belongs at that path of the host. */
export function placedFile({ model }: Site, path: string): PlacedFile {
  const file = renderedFiles(model).find((candidate) => candidate.path === path);
  if (file === undefined) throw new Error(`nothing is rendered for ${path}`);
  return { ...file, path };
}

export async function parentsOf(host: Host, { path }: PlacedFile): Promise<Opened[]> {
  return (await host.files.missingAbove(path)).map((parent) => ({ type: "parent", path: parent }));
}

export async function checkFile(host: Host, { path, text, mode }: PlacedFile): Promise<StepState> {
  const look = await host.files.look(path);
  if (look === undefined) return { state: "missing", detail: `${path} is not there` };
  if (look.kind !== "file") return { state: "wrong", detail: `${path} is not a file` };
  const same = look.mode === mode && (await host.files.read(path)) === text;
  return same ? { state: "done", detail: path } : { state: "wrong", detail: `${path} is not as it should be` };
}

export async function putFile(host: Host, { path, text, mode }: PlacedFile): Promise<void> {
  const look = await host.files.look(path);
  if (look !== undefined && look.kind !== "file") {
    throw new DrawbridgeError("DB_BRIDGE_EXISTS", `${path} is there already and is not a file.`);
  }
  for (const parent of await host.files.missingAbove(path)) await host.files.makeDirectory(parent, 0o755);
  await host.files.write(path, text, mode);
}
