/** What the real Ignition module says, asked in one go. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

export type Question =
  | { readonly config: string }
  /** A config whose references are data URLs. */
  | { readonly render: string }
  /** Both valid configs; the child goes over the parent. */
  | { readonly parent: string; readonly child: string };

export interface Answer {
  readonly ok: boolean;
  readonly error?: string;
  readonly report: readonly { readonly kind: string; readonly path: string; readonly message: string }[];
  /** As spec 3.5, for what is valid. */
  readonly config?: unknown;
}

export async function ask(judge: string, questions: readonly Question[]): Promise<Answer[]> {
  const child = spawn(judge, { stdio: ["pipe", "pipe", "inherit"] });
  const output = text(child.stdout);
  const encoded = questions.map((question) =>
    Object.fromEntries(Object.entries(question).map(([name, value]) => [name, Buffer.from(value).toString("base64")])),
  );
  child.stdin.end(encoded.map((question) => `${JSON.stringify(question)}\n`).join(""));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`ignition-judge ended with ${code}`);
  const answers = (await output).trimEnd().split("\n");
  if (answers.length !== questions.length)
    throw new Error(`${questions.length} questions were asked and ${answers.length} answers came`);
  return answers.map((answer) => JSON.parse(answer));
}

/** Without what says nothing: Go writes empty objects for every member that is an object. */
export function meaningful(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => meaningful(item) ?? {});
  if (typeof value !== "object" || value === null) return value ?? undefined;
  const members = Object.entries(value)
    .map(([name, member]) => [name, meaningful(member)] as const)
    .filter(([, member]) => member !== undefined && !(Array.isArray(member) && member.length === 0));
  return members.length === 0 ? undefined : Object.fromEntries(members);
}
