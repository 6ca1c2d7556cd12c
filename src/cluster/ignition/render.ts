/** What a config becomes once everything it refers to is put into its place, as Ignition does before it acts. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { pathText } from "./json-path.js";
import { merge } from "./merge.js";
import type { Config, Resource } from "./model/config.js";
import { NEWEST } from "./model/spec.js";
import { requireConfig } from "./parse.js";
import { validate } from "./validate/validate.js";

/**
 * Brings a referenced config's bytes, unpacked and verified. `settings` is the config whose authorities, proxy and
 * timeouts hold for the fetch.
 */
export type FetchConfig = (resource: Resource, settings: Config, what: string) => Buffer | Promise<Buffer>;

/** Ignition itself has no bound; a config that refers to itself must end all the same. */
const MOST_REFERENCES = 100;

/**
 * `replace` before `merge`; merged depth first, in order, each over what is there. References that were followed are
 * gone from the result. Throws what fetching throws, DB_IGNITION_CONFIG and DB_IGNITION_INVALID.
 */
export async function render(config: Config, fetch: FetchConfig): Promise<Config> {
  const walk = new Walk(fetch);
  const result = withoutReferences(await walk.rendered(config));
  const first = validate(result, NEWEST).find(({ severity }) => severity === "error");
  if (first !== undefined)
    throw new DrawbridgeError(
      "DB_IGNITION_INVALID",
      `merging what the config refers to gives no valid config: ${pathText(first.path)}: ${first.message}`,
    );
  return result;
}

class Walk {
  readonly #fetch: FetchConfig;
  #followed = 0;

  constructor(fetch: FetchConfig) {
    this.#fetch = fetch;
  }

  async rendered(config: Config, settings: Config = config): Promise<Config> {
    const { replace, merge: children = [] } = config.ignition.config ?? {};
    if (replace?.source !== undefined) {
      const replacement = await this.#referenced(replace, settings, "the config named in ignition.config.replace");
      return this.rendered(replacement);
    }
    let result = config;
    let current = settings;
    for (const [index, child] of children.entries()) {
      const what = `the config named in ignition.config.merge.${index}`;
      const fetched = await this.#referenced(child, current, what);
      // A child's own authorities and proxy hold already when what it refers to is fetched.
      current = merge(result, fetched);
      result = merge(result, await this.rendered(fetched, current));
    }
    return result;
  }

  async #referenced(resource: Resource, settings: Config, what: string): Promise<Config> {
    this.#followed += 1;
    if (this.#followed > MOST_REFERENCES)
      throw new DrawbridgeError("DB_IGNITION_RESOURCE", `more than ${MOST_REFERENCES} configs refer to each other`);
    return requireConfig(await this.#fetch(resource, settings, what), what);
  }
}

function withoutReferences(config: Config): Config {
  const { config: _, ...ignition } = config.ignition;
  return { ...config, ignition };
}
