/** What makes a kubeconfig run a program, or read a file of this host. */
const OUTSIDE_KEYS = [
  "exec",
  "auth-provider",
  "tokenFile",
  "certificate-authority",
  "client-certificate",
  "client-key",
] as const;

/** The key by which a kubeconfig, parsed, uses more than it contains; undefined when it does not. */
export function outsideKeyIn(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    if (OUTSIDE_KEYS.some((refused) => refused === key)) return key;
    const deeper = outsideKeyIn(inner);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}
