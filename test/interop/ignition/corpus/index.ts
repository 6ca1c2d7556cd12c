import { diskRules } from "./disks.js";
import { documentRules } from "./documents.js";
import { nodeRules } from "./nodes.js";
import { resourceRules } from "./resources.js";
import type { Rule } from "./rule.js";
import { unitRules } from "./units.js";

/** Every rule of the Ignition specification that we check, each with configs on both sides of it. */
export const rules: readonly Rule[] = [...documentRules, ...resourceRules, ...nodeRules, ...diskRules, ...unitRules];
