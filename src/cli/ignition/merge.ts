/** `drawbridge ignition merge`: several configs into one. */

import type { Config, Minor } from "../../cluster/ignition/config.js";
import { requireConfig } from "../../cluster/ignition/parse.js";
import { emit, merge, render } from "../../cluster/ignition/render.js";
import { inlineContent } from "../../cluster/ignition/resource.js";
import { requireValid } from "../../cluster/ignition/validate/validate.js";
import { oneOf, yesNo } from "../flags/flag.js";
import { missing } from "../flags/parse.js";
import { defineCommand } from "../framework/define.js";
import { inputName } from "../framework/files.js";
import { readConfigInput } from "./payloads.js";

export default defineCommand({
  purpose: `Merges configs as Ignition does: each over the ones before it. Prints the result as JSON.

The result holds whatever secrets its parts hold. Configs that the parts refer to stay references, unless --resolve puts
those in their place that are data URLs.`,
  words: "FILE...",
  examples: ["drawbridge ignition merge base.ign worker.ign > merged.ign"],
  flags: {
    resolve: yesNo("Follow ignition.config.replace and merge where they are data URLs."),
    spec: oneOf(["3.2", "3.3", "3.4", "3.5"], "Spec version to write.", "3.2"),
  },
  async run({ resolve, spec }, { words: files, program }) {
    if (files.length === 0) throw missing(`at least one file is needed: ${program} FILE...`);
    const merged = await mergedFiles(files);
    const config = resolve ? await render(merged, (resource, _, what) => inlineContent(resource, what)) : merged;
    const minor = Number(spec.slice(2)) as Minor;
    return { ok: true, version: `3.${minor}.0`, config: emit(config, minor) };
  },
  show: ({ config }) => `${JSON.stringify(config)}\n`,
});

async function mergedFiles(files: readonly string[]): Promise<Config> {
  const configs: Config[] = [];
  for (const file of files) configs.push(requireConfig(await readConfigInput(file), inputName(file)));
  const result = configs.reduce(merge);
  requireValid(result, "together the configs are not valid");
  return result;
}
