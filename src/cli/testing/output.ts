/** Captures what commands print while a test runs. */
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
