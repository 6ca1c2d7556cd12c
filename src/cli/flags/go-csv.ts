/** The first record of a text as Go's encoding/csv reads it: that is how pflag splits a string slice. */

class CsvReader {
  private position = 0;
  private line = 1;
  private lineStart = 0;
  private recordLine = 1;
  private readonly text: string;

  constructor(text: string) {
    // Go's reader folds CRLF into LF and drops a CR that ends the input.
    this.text = text.replaceAll("\r\n", "\n").replace(/\r$/, "");
  }

  record(): string[] {
    while (this.text[this.position] === "\n") this.nextLine();
    if (this.position >= this.text.length) throw new Error("EOF");
    const fields: string[] = [];
    this.recordLine = this.line;
    do fields.push(this.text[this.position] === '"' ? this.quoted() : this.bare());
    while (this.text[this.position++] === ",");
    return fields;
  }

  private bare(): string {
    const start = this.position;
    while (this.position < this.text.length && !",\n".includes(this.text[this.position] ?? "")) {
      if (this.text[this.position] === '"') throw this.fault('bare " in non-quoted-field');
      this.position++;
    }
    return this.text.slice(start, this.position);
  }

  private quoted(): string {
    let field = "";
    this.position++;
    for (;;) {
      const character = this.text[this.position];
      if (character === undefined) throw this.fault('extraneous or missing " in quoted-field');
      if (character === '"') {
        const after = this.text[this.position + 1];
        if (after === undefined || after === "," || after === "\n") {
          this.position++;
          return field;
        }
        if (after !== '"') throw this.fault('extraneous or missing " in quoted-field');
        this.position++;
      }
      field += character;
      if (character === "\n") this.nextLine();
      else this.position++;
    }
  }

  private nextLine(): void {
    this.position++;
    if (this.position >= this.text.length) return;
    this.line++;
    this.lineStart = this.position;
  }

  /** Columns are bytes, counted from 1. */
  private fault(what: string): Error {
    const column = Buffer.byteLength(this.text.slice(this.lineStart, this.position)) + 1;
    const where =
      this.recordLine === this.line
        ? `parse error on line ${this.line}, column ${column}`
        : `record on line ${this.recordLine}; parse error on line ${this.line}, column ${column}`;
    return new Error(`${where}: ${what}`);
  }
}

/** Throws an Error with Go's own text. */
export function readCsvRecord(text: string): string[] {
  return text === "" ? [] : new CsvReader(text).record();
}
