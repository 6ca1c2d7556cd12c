/** What commands say while a test runs, kept instead of shown. */
import { afterEach, beforeEach, vi } from "vitest";

export interface CapturedOutput {
  stdout: string;
  stderr: string;
}

/** To be called beside the tests; each begins with nothing printed. */
export function captureOutput(): CapturedOutput {
  const printed: CapturedOutput = { stdout: "", stderr: "" };
  beforeEach(() => {
    for (const stream of ["stdout", "stderr"] as const) {
      printed[stream] = "";
      vi.spyOn(process[stream], "write").mockImplementation((text) => {
        printed[stream] += text;
        return true;
      });
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  return printed;
}
