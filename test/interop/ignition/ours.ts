/** What we make of the questions that the real module is asked. */
import { DrawbridgeError } from "../../../src/base/errors/error.js";
import { NEWEST } from "../../../src/cluster/ignition/config.js";
import { readConfig, requireConfig } from "../../../src/cluster/ignition/parse.js";
import { merge, render } from "../../../src/cluster/ignition/render.js";
import { inlineContent } from "../../../src/cluster/ignition/resource.js";
import { firstError } from "../../../src/cluster/ignition/validate/validate.js";
import { meaningful } from "./judge.js";

export interface Made {
  readonly ok: boolean;
  readonly config?: unknown;
}

/** No config where one of the two is not valid alone. */
export function mergedByUs({ parent, child }: { readonly parent: string; readonly child: string }): Made {
  const [above, below] = [readConfig(parent), readConfig(child)];
  if (!above.ok || !below.ok) return { ok: false };
  const config = merge(above.config, below.config);
  const ok = firstError(config, NEWEST) === undefined;
  return { ok, config: meaningful(config) };
}

export async function renderedByUs(text: string): Promise<Made> {
  try {
    const rendered = await render(requireConfig(text, "it"), (resource, _, what) => inlineContent(resource, what));
    return { ok: true, config: meaningful(rendered) };
  } catch (error) {
    if (error instanceof DrawbridgeError) return { ok: false };
    throw error;
  }
}
