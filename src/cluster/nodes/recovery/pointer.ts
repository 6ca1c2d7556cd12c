/** What user data says about the way to a machine's configuration. */
import { messageOf } from "../../../base/errors/error.js";
import type { Config } from "../../ignition/config.js";
import { requireConfig } from "../../ignition/parse.js";

export interface Pointer {
  readonly config: Config;
  readonly source: string;
  readonly token: string;
  /** Empty: it does not say. */
  readonly hash: string;
}

/** A sentence when a machine could not get anywhere with it. */
export function readPointer(text: string): Pointer | string {
  let config: Config;
  try {
    config = requireConfig(text, "it");
  } catch (reason) {
    return `a machine would refuse it: ${messageOf(reason)}`;
  }
  const [resource] = config.ignition.config?.merge ?? [];
  if (resource?.source === undefined) return "it refers to no configuration";
  const header = (name: string) =>
    resource.httpHeaders?.find((each) => each.name.toLowerCase() === name.toLowerCase())?.value;
  const authorization = header("Authorization");
  if (authorization === undefined) return "it has no Authorization header";
  // Exactly as the server reads it.
  const [, encoded] =
    /^Bearer ((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(authorization) ?? [];
  if (!encoded) return "its Authorization header is not the word Bearer and base64";
  const token = Buffer.from(encoded, "base64").toString("utf8");
  return { config, source: resource.source, token, hash: header("TargetConfigVersionHash") ?? "" };
}
