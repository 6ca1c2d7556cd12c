import { afterEach, expect, test, vi } from "vitest";
import { thisHost, waitFor } from "./host.js";

afterEach(() => void vi.restoreAllMocks());

test.each([6, -6])(
  "a wait lasts as long as before when the host's clock is set by %i hours",
  async (hours) => {
    const host = thisHost();
    const [soon, later] = [host.now() + 50, host.now() + 60_000];
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + hours * 3_600_000);
    let looks = 0;
    expect(await waitFor(host, later, async () => ++looks === 3, 1)).toBe(true);
    expect(await waitFor(host, soon, async () => false, 10)).toBe(false);
  },
  5_000,
);
