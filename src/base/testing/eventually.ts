import { vi } from "vitest";

/** Waits until the check stops throwing; the deadline leaves room for a busy machine. */
export function eventually(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 10_000, interval: 5 });
}
