/**
 * What a page says that a command prints, compared with what it printed: `...` within a line stands for anything, a line of
 * nothing else for any number of lines. The page's text may begin and end anywhere in the output; widths of gaps do not count.
 */
export function isPrinted(expected: string, output: string): boolean {
  const lines = expected.trim().split("\n");
  const pattern = lines.map((line) => (line.trim() === "..." ? "(?:[^\\n]*\\n)*?" : `${lineOf(line)}[ ]*\\n`)).join("");
  return new RegExp(`^${pattern}`, "m").test(`${output.trimEnd()}\n`);
}

function lineOf(line: string): string {
  return line
    .trim()
    .split(/(\.\.\.| +)/)
    .map((part) => {
      if (part === "...") return "[^\\n]*";
      return part.trim() === "" && part !== "" ? "[ ]+" : part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    })
    .join("")
    .replace(/^/, "[ ]*");
}
