/** Paths of files. Base64 has slashes, too: a path is known by the folder it begins with, or by the ending of the file. */
import type { Span } from "./cuts.js";

const PATH = /(?<![\w+/.~-])(?:file:\/\/|~|\.{1,2})?(?:\/[\w.@~-]{1,255}){1,64}\/?/g;
const KNOWN_ROOT =
  /^(?:file:\/\/)?(?:~|\.{1,2}|\/(?:boot|dev|etc|home|media|mnt|opt|private|proc|root|run|srv|sys|tmp|usr|var))\//;
const KNOWN_ENDING =
  /[^/]\.(?:ca|cer|cert|cfg|conf|config|crl|crt|csr|ign|json|jsonl|key|kubeconfig|lock|log|p12|pem|pid|pub|service|sh|sock|socket|tar|tgz|toml|txt|ya?ml)\.?$/i;

export function isFilePath(text: string): boolean {
  return KNOWN_ROOT.test(text) || KNOWN_ENDING.test(text);
}

/** Where paths of files are. Their names are to be judged one by one. */
export function pathSpans(text: string): Span[] {
  if (!text.includes("/")) return [];
  return [...text.matchAll(PATH)].flatMap(({ 0: path, index }) =>
    isFilePath(path) ? [{ from: index, to: index + path.length }] : [],
  );
}
