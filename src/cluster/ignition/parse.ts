/** A config's text into the model, with all its problems. */
import { DrawbridgeError, wrapErrors } from "../../base/errors/error.js";
import { JsonError, type JsonNode, readJson } from "../../base/located-json.js";
import { utf8Text } from "../../base/text.js";
import { type Config, configShape, type Minor, minorOf, minors, NEWEST, versionOf, versionShape } from "./config.js";
import { decode, upTranslated } from "./decode.js";
import { ConfigPlace, type ConfigProblem, findingText, isFatal, type LocatedProblem, located } from "./problems.js";
import { validate } from "./validate/validate.js";

/** The config is translated to the newest spec; `minor` is the spec version that it was written in. */
export type ConfigReading =
  | { readonly ok: true; readonly config: Config; readonly minor: Minor; readonly findings: LocatedProblem[] }
  | { readonly ok: false; readonly findings: LocatedProblem[] };

/** Rendered worker configs have about a megabyte. */
const LARGEST_CONFIG = 50 * 1024 * 1024;

/** Throws DB_IGNITION_CONFIG for what is no text of a config at all; anything else is findings. */
export function readConfig(content: Buffer | string): ConfigReading {
  const text = typeof content === "string" ? content : decoded(content);
  if (text === "") throw unreadable("it is empty");
  const root = parsed(text);
  const { version, problems } = versionIn(root);
  if (version === undefined) return { ok: false, findings: located(problems, text, root) };
  const place = new ConfigPlace(version);
  const config = decode(root, configShape, place) as unknown as Config;
  if (!isFatal(place.problems)) validate(config, place);
  const findings = located(place.problems, text, root);
  if (isFatal(findings)) return { ok: false, findings };
  return { ok: true, config: upTranslated(config, version), minor: version, findings };
}

/** Throws DB_IGNITION_CONFIG, or DB_IGNITION_INVALID with the first error; `what` names the config for it. */
export function requireConfig(content: Buffer | string, what: string): Config {
  const reading = readConfigOf(content, what);
  if (reading.ok) return reading.config;
  const errors = reading.findings.filter(({ severity }) => severity === "error");
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  throw new DrawbridgeError("DB_IGNITION_INVALID", `${what} is not a valid config: ${findingText(errors[0]!)}${more}`);
}

/** readConfig with the config's name in what it throws. */
export function readConfigOf(content: Buffer | string, what: string): ConfigReading {
  return wrapErrors("DB_IGNITION_CONFIG", `${what} cannot be read as an Ignition config`, () => readConfig(content));
}

function decoded(bytes: Buffer): string {
  if (bytes.length > LARGEST_CONFIG) throw unreadable(`it has ${bytes.length} bytes, more than any config (50 MiB)`);
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw unreadable("it is compressed; unpack it with gunzip first");
  const text = utf8Text(bytes);
  if (text === undefined) throw unreadable("it is not UTF-8 text");
  return text;
}

function parsed(text: string): JsonNode {
  try {
    return readJson(text);
  } catch (error) {
    throw error instanceof JsonError ? unreadable(error.message) : error;
  }
}

function versionIn(root: JsonNode): { version?: Minor; problems: readonly ConfigProblem[] } {
  const place = new ConfigPlace(NEWEST);
  const { ignition } = decode(root, versionShape, place) as { ignition?: { version: string } };
  if (isFatal(place.problems)) return { problems: place.problems };
  const spelling = ignition?.version ?? "";
  const version = minorOf(spelling);
  if (version !== undefined) return { version, problems: [] };
  const message = spelling === "" ? "the config names no spec version" : `the spec version is none of ${KNOWN}`;
  return { problems: [{ severity: "error", path: ["ignition", "version"], message }] };
}

const KNOWN = `${versionOf(minors[0])} to ${versionOf(NEWEST)}`;
const unreadable = (why: string) => new DrawbridgeError("DB_IGNITION_CONFIG", why);
