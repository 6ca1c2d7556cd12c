/**
 * Certificates and other public blocks are drawn at random as far as anyone can see, so some look like a token, a name or
 * a key. While a text is judged, short stand-ins that look like nothing take the place of their base64.
 */
import { createPublicKey, X509Certificate } from "node:crypto";
import { type Cut, withCuts } from "./cuts.js";
import { publicSpans } from "./shapes.js";

/** Characters of the private use area, which no program writes. */
const OPEN = "\ue000";
const CLOSE = "\ue001";
const STAND_IN = /\ue000(\d+)\ue001/g;

const LONGEST_CERTIFICATE = 64 * 1024;
/** Nothing public in DER is shorter in base64. */
const BARE_RUN = /(?<![A-Za-z0-9+/])M[A-Za-z0-9+/]{55,}={0,2}(?![A-Za-z0-9+/=])/g;
const LINE_BREAK = /\r?\n|(?:\\+[rn])+/g;
/** The base64 at the end of a line, whatever a log has put before it. */
const LAST_RUN = /(?:^|[ \t])([A-Za-z0-9+/]{1,4096}={0,2})[ \t\r]*$/;

export interface StoodIn {
  readonly text: string;
  /** The text with what the stand-ins that are left stand for. */
  restored(text: string): string;
}

export function withStandIns(text: string): StoodIn {
  const cuts: Cut[] = [];
  const hidden: string[] = [];
  const hide = (from: number, to: number) => {
    cuts.push({ from, to, instead: `${OPEN}${hidden.length}${CLOSE}` });
    hidden.push(text.slice(from, to));
  };
  // A text with such characters of its own is judged as it is, and so is one that has stand-ins already.
  if (!text.includes(OPEN)) {
    for (const { from, to } of publicSpans(text)) for (const piece of blockPieces(text, from, to)) hide(...piece);
    const hiddenFrom = new Set(cuts.map(({ from }) => from));
    for (const { 0: run, index } of text.matchAll(BARE_RUN)) {
      if (!hiddenFrom.has(index) && isPublicDer(run)) hide(index, index + run.length);
    }
  }
  if (hidden.length === 0) return { text, restored: (clean) => clean };
  return {
    text: withCuts(text, cuts),
    restored: (clean) => clean.replace(STAND_IN, (_, index: string) => hidden[Number(index)] ?? ""),
  };
}

/** Where the base64 of one block is, line by line; nothing when the block is not what its label says. */
function blockPieces(text: string, from: number, to: number): [number, number][] {
  if (to - from > LONGEST_CERTIFICATE * 2) return [];
  const [, mark = "", body] = /^(-----BEGIN [^-]*-----)(.*)-----END /s.exec(text.slice(from, to)) ?? [];
  if (body === undefined) return [];
  const begin = from + mark.length;
  const pieces: [number, number][] = [];
  let lineStart = 0;
  let base64 = "";
  const take = (lineEnd: number): void => {
    const line = body.slice(lineStart, lineEnd);
    const run = LAST_RUN.exec(line)?.[1];
    if (run === undefined) return;
    const at = begin + lineStart + line.lastIndexOf(run);
    pieces.push([at, at + run.length]);
    base64 += run;
  };
  for (const { 0: line, index } of body.matchAll(LINE_BREAK)) {
    take(index);
    lineStart = index + line.length;
  }
  // After the last break stands only what a log puts before the closing mark.
  return isSequence(Buffer.from(base64, "base64")) ? pieces : [];
}

/** Certificates, requests, lists and public keys are a sequence that begins with one; private keys begin with a number. */
function isSequence(der: Buffer): boolean {
  const outer = lengthAt(der, 1);
  return outer !== undefined && der[0] === 0x30 && outer.from + outer.length === der.length && der[outer.from] === 0x30;
}

function lengthAt(der: Buffer, at: number): { readonly from: number; readonly length: number } | undefined {
  const first = der[at] ?? 0;
  if (first < 0x80) return { from: at + 1, length: first };
  const bytes = first & 0x7f;
  if (bytes === 0 || bytes > 4 || at + 1 + bytes > der.length) return undefined;
  return { from: at + 1 + bytes, length: der.readUIntBE(at + 1, bytes) };
}

/** A certificate or a public key in DER. */
export function isPublicDer(run: string): boolean {
  if (!run.startsWith("M") || run.length > LONGEST_CERTIFICATE) return false;
  const der = Buffer.from(run, "base64");
  if (!isSequence(der)) return false;
  return (
    parses(() => new X509Certificate(der)) || parses(() => createPublicKey({ key: der, format: "der", type: "spki" }))
  );
}

function parses(read: () => unknown): boolean {
  try {
    return read() !== undefined;
  } catch {
    return false;
  }
}
