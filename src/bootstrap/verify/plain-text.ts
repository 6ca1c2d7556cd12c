/** Foreign text as one line that can be shown anywhere: no control sequences, no novels. */
const longest = 600;

export function plainText(text: string): string {
  const line = text
    .replace(/\s+/g, " ")
    // Control characters, bidirectional overrides and half surrogates, none of which XML or a terminal should get.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\ufffe\uffff]/gu, "\ufffd")
    .trim();
  return line.length <= longest ? line : `${[...line].slice(0, longest).join("")}...`;
}

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
