/** The bootstrap kubeconfig among the files that a machine was given, as far as it may be used on this host. */
import { readFile } from "node:fs/promises";
import { parseDocument } from "yaml";
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Tree } from "./tree.js";

/** Of a kubelet on Fedora CoreOS, and of one on RHCOS. */
const usualPaths = ["/etc/kubernetes/bootstrap-kubeconfig", "/etc/kubernetes/kubeconfig"];

/** A payload must not make this host run a program or read a file of its own. */
const refusedKeys = [
  "exec",
  "auth-provider",
  "tokenFile",
  "certificate-authority",
  "client-certificate",
  "client-key",
] as const;

/** Its place on this host. Throws DB_SIMULATE_JOIN. */
export async function bootstrapCredential(tree: Tree): Promise<string> {
  for (const path of usualPaths) {
    const place = await tree.file(path);
    if (place === undefined) continue;
    const found = refusedIn(contentOf(path, await readFile(place, "utf8")));
    if (found === undefined) return place;
    throw refused(`${path} names ${found}, and a payload's kubeconfig is used here only with what stands in it`);
  }
  throw refused(`the payload has no bootstrap kubeconfig: neither ${usualPaths.join(" nor ")} is there`);
}

function contentOf(path: string, text: string): unknown {
  try {
    const document = parseDocument(text);
    if (document.errors.length === 0) return document.toJS({ maxAliasCount: 0 });
  } catch {
    // The parser's own words may repeat a line, and with it a token.
  }
  throw refused(`${path} of the payload is not YAML without aliases`);
}

function refusedIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (refusedKeys.some((refused) => refused === key)) return key;
    const deeper = refusedIn(inner);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

const refused = (sentence: string) => new DrawbridgeError("DB_SIMULATE_JOIN", sentence);
