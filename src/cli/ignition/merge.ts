/** `drawbridge ignition merge`: several configs into one. */
import { DrawbridgeError } from "../../base/errors/error.js";
import type { Config, Minor } from "../../cluster/ignition/config.js";
import { choice } from "../flags/choice.js";
import { boolean } from "../flags/flag-value.js";
import { nameOf, print, readConfigFile, runIgnitionCommand } from "./files.js";

const purpose = `Merges configs as Ignition does: each over the ones before it. Prints the result as JSON.

The result holds whatever secrets its parts hold. Configs that the parts refer to stay references, unless --resolve puts
those in their place that are data URLs.`;

const specs = ["3.2", "3.3", "3.4", "3.5"] as const;

export function ignitionMerge(program: string, argv: readonly string[]): Promise<number> {
  return runIgnitionCommand(program, argv, {
    purpose,
    words: "FILE...",
    files: { from: 1, to: Number.POSITIVE_INFINITY },
    declare: (set) => ({
      resolve: set.add("resolve", boolean, false, "Follow ignition.config.replace and merge where they are data URLs."),
      spec: set.add("spec", choice(...specs), undefined, "Spec version to write. If empty, 3.2."),
    }),
    run: async ({ resolve, spec, output }, files) => {
      const { emit } = await import("../../cluster/ignition/render.js");
      const merged = await mergedFiles(files);
      const config = resolve.value ? await resolved(merged) : merged;
      const minor = Number((spec.value ?? specs[0]).slice(2)) as Minor;
      const result = emit(config, minor);
      print(output.value, { ok: true, version: `3.${minor}.0`, config: result }, () => `${JSON.stringify(result)}\n`);
      return 0;
    },
  });
}

async function mergedFiles(files: readonly string[]): Promise<Config> {
  const { merge } = await import("../../cluster/ignition/render.js");
  const { requireConfig } = await import("../../cluster/ignition/parse.js");
  const { pathText } = await import("../../cluster/ignition/problems.js");
  const { validate } = await import("../../cluster/ignition/validate/validate.js");
  const { NEWEST: newest } = await import("../../cluster/ignition/config.js");
  const configs: Config[] = [];
  for (const file of files) configs.push(requireConfig(await readConfigFile(file), nameOf(file)));
  const result = configs.reduce(merge);
  const first = validate(result, newest).find(({ severity }) => severity === "error");
  if (first !== undefined) {
    const sentence = `together the configs are not valid: ${pathText(first.path)}: ${first.message}`;
    throw new DrawbridgeError("DB_IGNITION_INVALID", sentence);
  }
  return result;
}

async function resolved(config: Config): Promise<Config> {
  const { render } = await import("../../cluster/ignition/render.js");
  const { inlineContent } = await import("../../cluster/ignition/resource.js");
  return render(config, (resource, _, what) => inlineContent(resource, what));
}
