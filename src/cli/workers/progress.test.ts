import { expect, test } from "vitest";
import { showProgress } from "./change.js";

function screen(isTTY: boolean) {
  const parts: string[] = [];
  return { isTTY, columns: 20, write: (part: string) => parts.push(part), text: () => parts.join("") };
}

test("progress writes each state once where there is no terminal", () => {
  const to = screen(false);
  const progress = showProgress(to);
  for (const line of ["0 of 2", "0 of 2", "1 of 2"]) progress.status(line);
  progress.log("w-0: said\r\n\u001b[31mred");
  progress.status("1 of 2");
  progress.end();
  expect(to.text()).toBe("0 of 2\n1 of 2\nw-0: said \ufffd[31mred\n");
});

test("progress changes one line on a terminal, no longer than it is wide", () => {
  const to = screen(true);
  const progress = showProgress(to);
  progress.status("waiting for something long");
  progress.log("done");
  progress.end();
  const state = "\r\u001b[Kwaiting for somethi";
  expect(to.text()).toBe(`${state}\r\u001b[Kdone\n${state}\r\u001b[K`);
});
