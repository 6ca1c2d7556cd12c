import { expect, test } from "vitest";
import { fail, pass, type Result } from "../../../base/check.js";
import { consequences } from "./consequences.js";

const result = (id: string, outcome: object): Result => ({ id, title: id, ...outcome }) as Result;

test("nothing stops when nothing failed", () => {
  expect(consequences([result("servers", pass("3 of 3"))])).toEqual([]);
});

test("a dead tunnel is told in the words of those who notice, each once", () => {
  const list = consequences([result("agents", fail("", "")), result("data-plane-connection", fail("", ""))]);
  expect(list[0]).toBe("kubectl logs, exec, attach, port-forward and cp");
  expect(new Set(list).size).toBe(list.length);
  expect(list.join("\n")).toMatch(/webhooks[\s\S]*aggregated[\s\S]*logins[\s\S]*image import[\s\S]*operator catalogs/);
  expect(list.join("\n")).not.toContain("the control plane itself serves");
});

test("one webhook is one line, with what it means", () => {
  const broken = fail("no endpoints", "", { effect: "requests it should judge are refused" });
  expect(consequences([result("webhook:a/b", broken)])).toEqual(["webhook:a/b: requests it should judge are refused"]);
});
