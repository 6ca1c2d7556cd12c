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

/** Undefined: leave. */
export function pressed(key: string, choices: Choices): Choices | undefined {
  if (key === "\u0003") return undefined;
  if (choices.isTyping) return typed(key, choices);
  switch (key) {
    case "q":
      return undefined;
    case "/":
      return { ...choices, isTyping: true, search: "", skipped: 0 };
    case "s":
      return { ...choices, order: { column: nextColumn(choices.order.column), descending: true }, skipped: 0 };
    case "r":
      return { ...choices, order: { ...choices.order, descending: !choices.order.descending } };
    case "\u001b[A":
      return { ...choices, skipped: Math.max(0, choices.skipped - 1) };
    case "\u001b[B":
      return { ...choices, skipped: choices.skipped + 1 };
    case "\u001b[5~":
      return { ...choices, skipped: Math.max(0, choices.skipped - 20) };
    case "\u001b[6~":
      return { ...choices, skipped: choices.skipped + 20 };
    default:
      return choices;
  }
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
