/** Values that stand behind a secret's name and are no secret. */
import { looksRandom } from "./entropy.js";

const NOTHING =
  /^(?:true|false|null|nil|none|undefined|yes|no|on|off|~|\*+|x+|<[\w -]*>|\[[\w ]*removed\]|Bearer|Basic)?$/i;
const DIGEST = /^sha(?:1|224|256|384|512)[:-][0-9a-fA-F]{32,}$/;
const PATH = /^(?:file:\/\/)?(?:\/[\w.@~-]+){2,}\/?$/;
const SMALL_NUMBER = /^-?\d{1,5}(?:\.\d{1,3})?(?:ms|s|m|h)?$/;

export function isPlainValue(value: string, ofPassword: boolean): boolean {
  const text = value.trim();
  if (NOTHING.test(text)) return true;
  if (ofPassword) return false;
  return DIGEST.test(text) || SMALL_NUMBER.test(text) || (PATH.test(text) && !looksRandom(text));
}
