import { plainJson } from "../plain-json.js";
import { redact, redactField } from "../redact/redact.js";

/** klog's letters: information, warning, error. */
export type Severity = "I" | "W" | "E";

export type LineFormat = (
  time: Date,
  severity: Severity,
  message: string,
  fields: Readonly<Record<string, unknown>>,
) => string;

/** No line may be longer: an explanation of a refusal is a few kilobytes at most. */
const MAX_LINE_CHARS = 32 * 1024;

const JSON_LEVELS = { I: "info", W: "warn", E: "error" } as const;

/** `I1115 20:14:03.123000   4711] message key="value"`, as klog prints it but without file names. */
export const formatText: LineFormat = (time, severity, message, fields) => {
  const date = pad(time.getMonth() + 1, 2) + pad(time.getDate(), 2);
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => pad(part, 2)).join(":");
  const header = `${severity}${date} ${clock}.${pad(time.getMilliseconds(), 3)}000 ${String(process.pid).padStart(7)}]`;
  let line = `${header} ${oneLine(redact(message))}`;
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) line += ` ${name}=${textValue(name, value)}`;
  }
  return `${cut(line)}\n`;
};

export const formatJson: LineFormat = (time, severity, message, fields) => {
  const head = { time: time.toISOString(), level: JSON_LEVELS[severity], pid: process.pid, message };
  const line = plainJson({ ...fields, ...head });
  return line.length <= MAX_LINE_CHARS ? `${line}\n` : `${plainJson({ ...head, truncated: cut(line) })}\n`;
};

function textValue(name: string, value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") return String(value);
  if (typeof value === "string") return JSON.stringify(redactField(name, value));
  return plainJson(value);
}

/** Control characters would let a peer forge lines or colour the terminal. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (character) =>
    JSON.stringify(character).slice(1, -1),
  );
}

function cut(line: string): string {
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS)}... (${line.length} characters)`;
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}
