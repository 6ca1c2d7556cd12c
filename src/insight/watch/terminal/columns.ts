/** Rows of a table that fit a terminal: numbers stay whole, the least important columns go first, names get the rest. */

import { type Paint, painted } from "../../../base/colour.js";
import { shortNames } from "../view/names.js";
import { cell } from "./cells.js";

export interface Column<Row> {
  readonly title: string;
  /** Undefined: whatever is left, shared by all such columns; never less than `LEAST_NAME`. */
  readonly width?: number;
  readonly align?: "left" | "right";
  /** Dropped first when there is no room; undefined: never. */
  readonly dropped?: number;
  text(row: Row): string;
  paint?(row: Row): readonly Paint[];
}

const LEAST_NAME = 14;

/** The heading, and one line for each row; the selected one is marked. */
export function tableLines<Row>(
  all: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
  selected?: Row,
): { readonly heading: string; readonly lines: readonly string[] } {
  const columns = fitting(all, width);
  const names = columns.filter((column) => column.width === undefined);
  const fixed = columns.reduce((sum, column) => sum + (column.width ?? 0) + 1, 0);
  const nameWidth = Math.floor((width - 1 - fixed + names.length) / Math.max(1, names.length)) - 1;
  const widthOf = (column: Column<Row>): number => column.width ?? Math.max(1, nameWidth);
  const shortOf = names.map((column) =>
    shortNames(
      rows.map((row) => column.text(row)),
      nameWidth,
    ),
  );
  return {
    heading: ` ${columns.map((column) => cell(column.title, widthOf(column), column.align)).join(" ")}`,
    lines: rows.map((row) => {
      const cells = columns.map((column) => {
        const name = names.indexOf(column);
        const text = name < 0 ? column.text(row) : shortOf[name]!(column.text(row));
        return painted(cell(text, widthOf(column), column.align), ...(column.paint?.(row) ?? []));
      });
      return `${row === selected ? "›" : " "}${cells.join(" ")}`;
    }),
  };
}

function fitting<Row>(all: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const needed = all.reduce((sum, column) => sum + (column.width ?? LEAST_NAME) + 1, 1);
  const first = Math.max(...all.map(({ dropped = 0 }) => dropped));
  if (needed <= width || first === 0) return all;
  return fitting(
    all.filter(({ dropped }) => dropped !== first),
    width,
  );
}
