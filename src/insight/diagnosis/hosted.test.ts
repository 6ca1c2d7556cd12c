import { expect, test } from "vitest";
import { type Finding, failed, type Judgement, ok } from "../../base/finding.js";
import { consequencesOf } from "./hosted.js";

const finding = (check: string, judgement: Judgement): Finding => ({ check, about: check, ...judgement });

test("nothing stops working when nothing failed", () => {
  expect(consequencesOf([finding("servers", ok("3 of 3"))])).toEqual([]);
});

test("the consequences of a dead tunnel are listed as users notice them, each once", () => {
  const list = consequencesOf([finding("agents", failed("", "")), finding("data-plane-connection", failed("", ""))]);
  expect(list[0]).toBe("kubectl logs, exec, attach, port-forward and cp");
  expect(new Set(list).size).toBe(list.length);
  expect(list.join("\n")).toMatch(/webhooks[\s\S]*aggregated[\s\S]*logins[\s\S]*image import[\s\S]*operator catalogs/);
  expect(list.join("\n")).not.toContain("the control plane itself serves");
});

test("a webhook that cannot be called is one line with its effect", () => {
  const details = { effect: "requests it should judge are refused" };
  const broken = finding("webhook", { ...failed("no endpoints", ""), subject: "a/b", details });
  expect(consequencesOf([broken])).toEqual(["webhook a/b: requests it should judge are refused"]);
});
