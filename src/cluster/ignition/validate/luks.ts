/** Encrypted volumes. */
import type { Problems } from "../finding.js";
import type { JsonPath } from "../json-path.js";
import type { Clevis, ClevisCustom, Luks, Storage, Tang } from "../model/config.js";
import type { Minor } from "../model/spec.js";
import { pathObjection } from "./paths.js";
import { checkResource } from "./resources.js";
import { takeApart } from "./url.js";

export function checkVolumes({ luks = [] }: Storage, path: JsonPath, minor: Minor, problems: Problems): void {
  for (const [index, volume] of luks.entries()) checkLuks(volume, [...path, "luks", index], minor, problems);
}

function checkLuks(luks: Luks, path: JsonPath, minor: Minor, problems: Problems): void {
  const { name, label = "", device = "", clevis, keyFile, cex } = luks;
  if (name.includes("/")) problems.error([...path, "name"], "a volume's name cannot hold a slash");
  if (Buffer.byteLength(label) > 47) problems.error([...path, "label"], "a volume's label has at most 47 bytes");
  problems.error([...path, "device"], device === "" ? "a volume needs a device" : pathObjection(device));
  if (clevis) checkClevis(clevis, [...path, "clevis"], minor, problems);
  const key = keyFile?.source ?? "";
  if (keyFile) checkResource(keyFile, [...path, "keyFile"], minor, problems);
  if (cex?.enabled !== true) return;
  if (clevis && isUsed(clevis)) problems.error([...path, "cex"], "cex and clevis exclude each other");
  if (key !== "") problems.error([...path, "cex"], "cex and a key file exclude each other");
}

const isUsed = (clevis: Clevis): boolean => !!clevis.custom?.pin || hasPins(clevis);

const hasPins = ({ tang, tpm2, threshold = 0 }: Clevis): boolean =>
  tang !== undefined || tpm2 === true || threshold !== 0;

function checkClevis(clevis: Clevis, path: JsonPath, minor: Minor, problems: Problems): void {
  const { custom, tang = [] } = clevis;
  // Before 3.3 an empty custom object counted as one.
  const isCustom = minor >= 3 ? !!custom?.pin : custom !== undefined;
  if (isCustom && hasPins(clevis)) problems.error(path, "a custom pin excludes tang, tpm2 and threshold");
  if (custom) checkCustom(custom, [...path, "custom"], minor, problems);
  for (const [index, server] of tang.entries()) checkTang(server, [...path, "tang", index], problems);
}

function checkCustom(custom: ClevisCustom, path: JsonPath, minor: Minor, problems: Problems): void {
  const { pin = "", config = "", needsNetwork } = custom;
  if (pin === "" && config === "" && (minor < 3 || needsNetwork !== true)) return;
  if (pin === "") problems.error([...path, "pin"], "a custom configuration needs a pin");
  else if (!["tpm2", "tang", "sss"].includes(pin)) problems.error([...path, "pin"], "the pin is not known");
  if (config === "") problems.error([...path, "config"], "a custom pin needs a configuration");
}

function checkTang({ url, thumbprint, advertisement }: Tang, path: JsonPath, problems: Problems): void {
  const scheme = takeApart(url)?.scheme;
  if (scheme !== "http" && scheme !== "https")
    problems.error([...path, "url"], "a Tang server has an http or https URL");
  if (!thumbprint) problems.error([...path, "thumbprint"], "a Tang server needs its thumbprint");
  if (advertisement && !isJson(advertisement))
    problems.error([...path, "advertisement"], "the advertisement is not JSON");
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
