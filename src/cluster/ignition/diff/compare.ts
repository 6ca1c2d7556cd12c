/** What differs between two payloads. */

import { aroundChanges, type Line, lineDiff } from "../../../base/line-diff.js";
import type { Config } from "../model/config.js";
import { withoutSecrets } from "../preview/secrets.js";
import { type Aspect, type Aspects, subjectsOf } from "./subjects.js";

export interface Change {
  readonly subject: string;
  readonly change: "added" | "removed" | "changed";
  readonly aspects: readonly AspectChange[];
}

export interface AspectChange {
  readonly name: string;
  /** In a word each; absent where the aspect itself is, and for contents. */
  readonly before?: string;
  readonly after?: string;
  /** Why the difference is not shown. */
  readonly hidden?: string;
  /** Contents: sizes before and after, and the lines around changes with null where lines are left out. */
  readonly sizes?: readonly [before: number | null, after: number | null];
  readonly lines?: readonly (Line | null)[];
}

export function compare(before: Config, after: Config): Change[] {
  const [old, young] = [subjectsOf(before), subjectsOf(after)];
  const names = [...new Set([...old.keys(), ...young.keys()])].sort();
  return names.flatMap((subject) => {
    const [was, is] = [old.get(subject), young.get(subject)];
    const aspects = changedAspects(was ?? new Map(), is ?? new Map());
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    return change === "changed" && aspects.length === 0 ? [] : [{ subject, change, aspects }];
  });
}

function changedAspects(before: Aspects, after: Aspects): AspectChange[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    return was?.exact === is?.exact && was !== undefined && is !== undefined ? [] : [changedAspect(name, was, is)];
  });
}

function changedAspect(name: string, was: Aspect | undefined, is: Aspect | undefined): AspectChange {
  const hidden = was?.hidden ?? is?.hidden;
  const sizes = was?.size === undefined && is?.size === undefined ? undefined : [was?.size ?? null, is?.size ?? null];
  const shared = { name, ...(sizes && { sizes: sizes as [number | null, number | null] }) };
  if (hidden !== undefined) return { ...shared, hidden };
  // Contents on one side only are as good as their size.
  const isText = was?.text !== undefined && is?.text !== undefined;
  if (isText) return { ...shared, ...lineChange(was.text!, is.text!) };
  return {
    ...shared,
    ...(was?.shown !== undefined && { before: was.shown }),
    ...(is?.shown !== undefined && { after: is.shown }),
  };
}

function lineChange(before: string, after: string): Pick<AspectChange, "lines" | "hidden"> {
  const lines = lineDiff(before, after);
  if (lines === undefined) return { hidden: "too many changed lines" };
  const shown = aroundChanges(lines);
  return { lines: shown.map((line) => (line === undefined ? null : { ...line, text: withoutSecrets(line.text) })) };
}
