export function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** As many as fit, and how many there are besides. */
export function some(words: readonly string[], most = 8): string {
  const rest = words.length - most;
  return words.slice(0, most).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** A URL may carry a password or a token. */
export function plainUrl(url = ""): string {
  try {
    const { protocol, host, pathname } = new URL(url);
    return `${protocol}//${host}${pathname}`;
  } catch {
    return "its URL";
  }
}
