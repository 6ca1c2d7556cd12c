/** What a command says while it waits, on standard error: a line that changes on a terminal, a line a change elsewhere. */

import { plainText } from "../../base/text.js";
import type { Progress } from "../../cluster/nodes/workers/patience.js";

interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export interface ShownProgress extends Progress {
  /** Takes the changing line away, so that a report can follow. */
  end(): void;
}

export function showProgress(screen: Screen = process.stderr): ShownProgress {
  return screen.isTTY === true ? onTerminal(screen) : asLines(screen);
}

const CLEAR_LINE = "\r\u001b[K";

function onTerminal(screen: Screen): ShownProgress {
  let shown = "";
  const draw = () => screen.write(CLEAR_LINE + shown.slice(0, (screen.columns ?? 80) - 1));
  return {
    tell(line) {
      screen.write(`${CLEAR_LINE}${plainText(line)}\n`);
      draw();
    },
    status(line) {
      shown = plainText(line);
      draw();
    },
    end: () => void screen.write(CLEAR_LINE),
  };
}

/** Logs are read later: each state once. */
function asLines(screen: Screen): ShownProgress {
  let last = "";
  return {
    tell: (line) => void screen.write(`${plainText(line)}\n`),
    status(line) {
      if (line !== last) screen.write(`${plainText(line)}\n`);
      last = line;
    },
    end: () => undefined,
  };
}
