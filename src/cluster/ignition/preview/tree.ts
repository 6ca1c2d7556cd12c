/** Paths as a tree. Folders that only lead to something stand in it without properties. */
interface Branch<T> {
  readonly children: Map<string, Branch<T>>;
  value?: T;
}

export interface TreeLine<T> {
  /** With the strokes that lead to it. */
  readonly name: string;
  readonly value: T | undefined;
  /** What the strokes are on lines that belong to this one. */
  readonly below: string;
}

/** A path of a thousand steps is no tree anyone reads. */
const DEEPEST = 100;

export function treeLines<T extends { readonly path: string }>(entries: readonly T[]): TreeLine<T>[] {
  const root: Branch<T> = { children: new Map() };
  for (const entry of entries) {
    const steps = entry.path.split("/").filter((step) => step !== "");
    const kept = steps.length > DEEPEST ? [...steps.slice(0, DEEPEST), steps.slice(DEEPEST).join("/")] : steps;
    let branch = root;
    for (const step of kept) {
      const next = branch.children.get(step) ?? { children: new Map() };
      branch.children.set(step, next);
      branch = next;
    }
    branch.value = entry;
  }
  return [{ name: "/", value: root.value, below: "  " }, ...linesBelow(root, "")];
}

function linesBelow<T>({ children }: Branch<T>, stem: string): TreeLine<T>[] {
  const list = [...children].sort(([a], [b]) => (a < b ? -1 : 1));
  return list.flatMap(([name, branch], index) => {
    const isLast = index === list.length - 1;
    const next = `${stem}${isLast ? "    " : "│   "}`;
    const line = { name: `${stem}${isLast ? "└── " : "├── "}${name}`, value: branch.value, below: next };
    return [line, ...linesBelow(branch, next)];
  });
}
