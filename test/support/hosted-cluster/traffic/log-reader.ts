import { closeSync, openSync, readSync } from "node:fs";

/** Whole lines of a growing file, each once. */
export class LogReader {
  readonly #path: string;
  readonly #piece = Buffer.alloc(64 * 1024);
  #offset = 0;
  #rest = "";

  constructor(path: string) {
    this.#path = path;
  }

  read(use: (line: string) => void): void {
    const file = openSync(this.#path, "r");
    try {
      for (;;) {
        const length = readSync(file, this.#piece, 0, this.#piece.length, this.#offset);
        if (length === 0) return;
        this.#offset += length;
        const lines = `${this.#rest}${this.#piece.toString("latin1", 0, length)}`.split("\n");
        this.#rest = lines.pop() ?? "";
        for (const line of lines) use(Buffer.from(line, "latin1").toString("utf8"));
      }
    } finally {
      closeSync(file);
    }
  }
}
