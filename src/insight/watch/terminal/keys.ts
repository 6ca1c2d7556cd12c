/** What a key does to what is shown. Pure. */
import type { Column } from "../view/tunnel-list.js";
import type { Choices } from "./screen.js";

const COLUMNS: readonly Column[] = ["age", "from", "to", "queued", "target", "peer", "state"];

export const FIRST_CHOICES: Choices = {
  order: { column: "age", descending: false },
  search: "",
  isTyping: false,
  skipped: 0,
};

const scrolled = (choices: Choices, by: number): Choices => ({
  ...choices,
  skipped: Math.max(0, choices.skipped + by),
});

const ACTIONS: Readonly<Record<string, (choices: Choices) => Choices | undefined>> = {
  q: () => undefined,
  "/": (choices) => ({ ...choices, isTyping: true, search: "", skipped: 0 }),
  s: (choices) => ({ ...choices, order: { column: nextColumn(choices.order.column), descending: true }, skipped: 0 }),
  r: (choices) => ({ ...choices, order: { ...choices.order, descending: !choices.order.descending } }),
  "\u001b[A": (choices) => scrolled(choices, -1),
  "\u001b[B": (choices) => scrolled(choices, 1),
  "\u001b[5~": (choices) => scrolled(choices, -20),
  "\u001b[6~": (choices) => scrolled(choices, 20),
};

/** Undefined: leave. */
export function pressed(key: string, choices: Choices): Choices | undefined {
  if (key === "\u0003") return undefined;
  if (choices.isTyping) return typed(key, choices);
  return Object.hasOwn(ACTIONS, key) ? ACTIONS[key]?.(choices) : choices;
}

function typed(key: string, choices: Choices): Choices {
  if (key === "\r" || key === "\n") return { ...choices, isTyping: false };
  if (key === "\u001b") return { ...choices, isTyping: false, search: "" };
  if (key === "\u007f" || key === "\b") return { ...choices, search: choices.search.slice(0, -1) };
  return /^[^\p{Cc}]+$/u.test(key) ? { ...choices, search: choices.search + key } : choices;
}

function nextColumn(column: Column): Column {
  return COLUMNS[(COLUMNS.indexOf(column) + 1) % COLUMNS.length] as Column;
}
