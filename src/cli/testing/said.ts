/** What commands say while a test runs, kept instead of shown. */
import { afterEach, beforeEach, vi } from "vitest";

export interface CapturedOutput {
  stdout: string;
  stderr: string;
}

/** To be called beside the tests; each begins with nothing said. */
export function captureOutput(): CapturedOutput {
  const said: CapturedOutput = { stdout: "", stderr: "" };
  beforeEach(() => {
    for (const stream of ["stdout", "stderr"] as const) {
      said[stream] = "";
      vi.spyOn(process[stream], "write").mockImplementation((text) => {
        said[stream] += text;
        return true;
      });
    }
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  return said;
}
