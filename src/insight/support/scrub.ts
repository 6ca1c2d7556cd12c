/** The one redaction, and what only a bundle knows: the very secrets it was made with. */
import { type Redacted, redactFile } from "../../base/redact/file.js";
import { REMOVED } from "../../base/redact/names.js";
import { spellingsOf } from "../../base/redact/spellings.js";

export class Scrubber {
  readonly #known: readonly string[];

  /** `known`: secrets that were read to make the bundle. */
  constructor(known: readonly string[]) {
    const plain = known.map((text) => text.trim()).filter((text) => text.length >= 4);
    const variants = new Set(plain.flatMap(spellingsOf));
    this.#known = [...variants].sort((one, other) => other.length - one.length);
  }

  scrub(path: string, content: Buffer): Redacted {
    // First the known ones: what is taken out by its form may have cut one of them in two.
    const text = content.toString("latin1");
    const known = this.text(text);
    const redacted = redactFile(path, known === text ? content : Buffer.from(known, "latin1"));
    if (redacted.state === "left-out") return redacted;
    return { ...redacted, changed: redacted.changed || known !== text };
  }

  /** Without the known secrets only. */
  text(text: string): string {
    return this.#known.reduce((rest, secret) => rest.replaceAll(secret, REMOVED), text);
  }
}
