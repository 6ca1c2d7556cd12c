/** What a key does to what is shown. Pure. */
import type { Column } from "../view/tunnel-list.js";
import type { Choices } from "./choices.js";

const COLUMNS: readonly Column[] = ["age", "from", "to", "queued", "target", "peer", "state"];

/** What the help shows; the keys below do it. */
export const HELP: readonly (readonly [keys: string, what: string])[] = [
  ["q, Ctrl-C", "end"],
  ["Tab", "go to the other list: agents, tunnels"],
  ["↑ ↓ PgUp PgDn", "select a row"],
  ["Enter", "show everything about the selected row"],
  ["d", "drain the selected agent: it gets no new tunnels"],
  ["/", "search the tunnels; Esc ends the search"],
  ["s, r", "sort the tunnels by another column, turn the order round"],
  ["?", "this help"],
];

const moved = (choices: Choices, by: number): Choices => ({ ...choices, at: Math.max(0, choices.at + by) });

const ACTIONS: Readonly<Record<string, (choices: Choices) => Choices | undefined>> = {
  q: () => undefined,
  "?": (choices) => ({ ...choices, overlay: "help" }),
  "\t": (choices) => ({ ...choices, focus: choices.focus === "peers" ? "tunnels" : "peers", at: 0 }),
  "\r": (choices) => ({ ...choices, overlay: "details" }),
  d: (choices) => (choices.focus === "peers" ? { ...choices, overlay: "drain" } : choices),
  "/": (choices) => ({ ...choices, isTyping: true, search: "", focus: "tunnels", at: 0 }),
  s: (choices) => ({ ...choices, order: { column: nextColumn(choices.order.column), descending: true }, at: 0 }),
  r: (choices) => ({ ...choices, order: { ...choices.order, descending: !choices.order.descending } }),
  "\u001b[A": (choices) => moved(choices, -1),
  "\u001b[B": (choices) => moved(choices, 1),
  "\u001b[5~": (choices) => moved(choices, -20),
  "\u001b[6~": (choices) => moved(choices, 20),
};

/** Undefined: leave. */
export function pressed(key: string, choices: Choices): Choices | undefined {
  if (key === "\u0003") return undefined;
  if (choices.isTyping) return typed(key, choices);
  if (choices.overlay !== undefined) return { ...choices, overlay: undefined };
  const name = key === "\n" ? "\r" : key;
  return Object.hasOwn(ACTIONS, name) ? ACTIONS[name]?.(choices) : choices;
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
