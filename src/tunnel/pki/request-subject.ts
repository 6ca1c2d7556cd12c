/** The subject of a certificate signing request. */
import { type DerReader, hex, tags } from "./der.js";

export interface SubjectParts {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** `OU=x` for every part of the subject that is neither of the two. */
  readonly otherSubjectParts: readonly string[];
}

const partNames: Readonly<Record<string, string>> = {
  "2.5.4.3": "CN",
  "2.5.4.5": "serialNumber",
  "2.5.4.6": "C",
  "2.5.4.7": "L",
  "2.5.4.8": "ST",
  "2.5.4.9": "street",
  "2.5.4.10": "O",
  "2.5.4.11": "OU",
  "1.2.840.113549.1.9.1": "emailAddress",
};

export function subjectIn(subject: DerReader): SubjectParts {
  const parts: { readonly name: string; readonly value: string }[] = [];
  while (!subject.isEmpty) {
    const set = subject.inside(tags.set, "a part of the subject");
    if (set.isEmpty) throw new Error("a part of the subject is empty");
    while (!set.isEmpty) {
      const part = set.inside(tags.sequence, "a part of the subject");
      const type = part.oid("type");
      const name = partNames[type] ?? type;
      parts.push({ name, value: textOf(part.any(), name) });
      part.end();
    }
  }
  const of = (name: string) => parts.filter((part) => part.name === name).map(({ value }) => value);
  return {
    commonNames: of("CN"),
    organizations: of("O"),
    otherSubjectParts: parts
      .filter(({ name }) => name !== "CN" && name !== "O")
      .map(({ name, value }) => `${name}=${value}`),
  };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The kinds of text that readers agree on. */
const alphabets: Readonly<Record<number, RegExp>> = {
  [tags.utf8String]: /^\P{Cc}*$/u,
  // The last two do not belong here and are common all the same; Go takes them, too.
  [tags.printableString]: /^[A-Za-z0-9 '()+,\-./:=?*&]*$/,
  [tags.ia5String]: /^[\x20-\x7e]*$/,
};

const otherTexts: Readonly<Record<number, string>> = {
  18: "a NumericString",
  20: "a T61String",
  28: "a UniversalString",
  30: "a BMPString",
};

function textOf({ content, tag }: { readonly content: Buffer; readonly tag: number }, name: string): string {
  const alphabet = alphabets[tag];
  if (alphabet === undefined) {
    const kind = otherTexts[tag] ?? `of the kind 0x${hex(tag)}`;
    throw new Error(
      `the subject's ${name} is ${kind}, and texts are read that are a UTF8String, a PrintableString or an IA5String`,
    );
  }
  let text: string;
  try {
    text = utf8.decode(content);
  } catch {
    throw new Error(`the subject's ${name} is not UTF-8`);
  }
  if (!alphabet.test(text))
    throw new Error(`the subject's ${name} holds a character that its kind of text cannot have`);
  return text;
}
