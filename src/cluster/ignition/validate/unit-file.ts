/**
 * Unit files as Ignition's parser reads them. It is neither systemd's nor a strict one: text before the first section
 * is passed over, and lines of 2048 bytes and more are refused where its 4096-byte window happens to show them whole.
 */

const WINDOW = 4096;
const LONGEST_LINE = 2048;

class Refusal extends Error {}

/** The sections that hold at least one option, or why the unit cannot be read. */
export function parseUnit(contents: string): ReadonlySet<string> | string {
  try {
    return new UnitReader(Buffer.from(contents)).sections();
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

const INK = /[^\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const isBlank = (text: string): boolean => !INK.test(text);
const isSpace = (code: number): boolean =>
  code < 0x80 ? code === 0x20 || (code >= 0x09 && code <= 0x0d) : isBlank(String.fromCodePoint(code));

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const OPENING = 0x5b;
const EQUALS = 0x3d;
const endsLine = (code: number): boolean => code === NEWLINE || code === RETURN;
const isComment = (code: number): boolean => code === 0x23 || code === 0x3b;

class UnitReader {
  readonly #bytes: Buffer;
  #at = 0;
  /** How far the reader would have read ahead. */
  #ahead = 0;
  /** The next end of a line that is known. */
  #lineEnd = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  sections(): Set<string> {
    const found = new Set<string>();
    /** Undefined before the first section, where any text is passed over. */
    let section: string | undefined;
    for (;;) {
      this.#checkLine();
      const before = this.#at;
      const code = this.#next();
      if (code === undefined) return found;
      if (code === OPENING) section = this.#heading();
      else if (isComment(code)) this.#comment();
      else if (section !== undefined && !isSpace(code)) {
        this.#at = before;
        this.#option();
        found.add(section);
      }
    }
  }

  /** The name of the section that begins here. */
  #heading(): string {
    this.#checkLine();
    const end = this.#bytes.indexOf("]", this.#at);
    if (end === -1) throw new Refusal("a section's name has no closing bracket");
    const name = this.#take(end + 1).slice(0, -1);
    this.#checkLine();
    if (!isBlank(this.#line())) throw new Refusal("there is text behind a section's name");
    return name;
  }

  #option(): void {
    this.#checkLine();
    for (let code = this.#next(); code !== EQUALS; code = this.#next()) {
      if (code === undefined || code === NEWLINE || code === RETURN) throw new Refusal("an option has no equals sign");
    }
    for (;;) {
      this.#checkLine();
      const text = this.#line();
      if (isBlank(text) || !text.endsWith("\\")) return;
    }
  }

  #comment(): void {
    this.#checkLine();
    for (let line = this.#line(); line.endsWith("\\") || line.endsWith("\\ "); ) line = this.#line();
  }

  #checkLine(): void {
    if (this.#ahead - this.#at < LONGEST_LINE) return;
    if (this.#lineEnd < this.#at) {
      this.#lineEnd = this.#at;
      while (this.#lineEnd < this.#bytes.length && !endsLine(this.#bytes[this.#lineEnd]!)) this.#lineEnd += 1;
    }
    if (this.#lineEnd - this.#at >= LONGEST_LINE) throw new Refusal(`a line is longer than ${LONGEST_LINE} bytes`);
  }

  /** A code point. */
  #next(): number | undefined {
    const first = this.#bytes[this.#at];
    if (first === undefined) return undefined;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (this.#at + length > this.#ahead) this.#readAhead();
    this.#at += length;
    return length === 1 ? first : this.#bytes.toString("utf8", this.#at - length, this.#at).codePointAt(0);
  }

  #line(): string {
    const newline = this.#bytes.indexOf("\n", this.#at);
    const text = this.#take(newline === -1 ? this.#bytes.length : newline + 1);
    return text.endsWith("\n") || text.endsWith("\r") ? text.slice(0, -1) : text;
  }

  /** Up to `end`, which was searched for: the window moves on by whole fills until it shows the place. */
  #take(end: number): string {
    const start = this.#at;
    while (end > this.#ahead && this.#ahead < this.#bytes.length) {
      if (this.#ahead - this.#at >= WINDOW) this.#at = this.#ahead;
      this.#readAhead();
    }
    this.#at = end;
    return this.#bytes.toString("utf8", start, end);
  }

  #readAhead(): void {
    this.#ahead = Math.min(this.#bytes.length, this.#at + WINDOW);
  }
}
