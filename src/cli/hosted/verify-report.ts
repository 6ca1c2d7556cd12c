import type { Status } from "../../base/check.js";
import type { Verdict } from "../../cluster/hosted/status/verify.js";

const words = { pass: "pass", fail: "FAIL", skip: "skip" } as const satisfies Record<Status, string>;

/** Status, what, evidence; what to do stands below, and at the end what nobody can do meanwhile. */
export function verdictText({ results, stopsWorking }: Verdict): string {
  const width = Math.max(0, ...results.map(({ title }) => title.length).filter((length) => length <= 64));
  const lines = results.flatMap(({ status, title, evidence, remedy }) => [
    `${words[status]}  ${title.padEnd(width)}  ${evidence}`,
    ...(remedy === "" ? [] : [`      -> ${remedy}`]),
  ]);
  const count = (status: Status): number => results.filter((result) => result.status === status).length;
  const counts = `${count("pass")} passed, ${count("fail")} failed, ${count("skip")} skipped.`;
  const broken =
    stopsWorking.length === 0 ? [] : ["", "What stops working:", ...stopsWorking.map((what) => `- ${what}`)];
  return `${[...lines, "", counts, ...broken].join("\n")}\n`;
}
