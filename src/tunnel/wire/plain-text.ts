/** Foreign text as one line that can be shown anywhere: no control sequences, no novels. */
export function plainText(text: string, longest = 600): string {
  const line = text
    .replace(/\s+/g, " ")
    // Control characters, bidirectional overrides and half surrogates, none of which XML or a terminal should get.
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\ufffe\uffff]/gu, "\ufffd")
    .trim();
  return line.length <= longest ? line : `${[...line].slice(0, longest).join("")}...`;
}
