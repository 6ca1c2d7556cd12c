/** One answer out of many findings. */
import { describe, expect, test } from "vitest";
import { type Finding, failed, type Judgement, ok, warning } from "../../base/finding.js";
import { healthOf } from "./health.js";

const found = (check: string, judged: Judgement): Finding => ({ check, about: check, ...judged });
const refused = (subject: string): Finding =>
  found("refused-peers", {
    ...warning(`an agent from ${subject} was refused`, "x"),
    short: "agent refused: it expired",
    subject,
  });

describe("the state", () => {
  test("without anything wrong it is healthy", () => {
    expect(healthOf([found("a", ok("fine"))])).toEqual({ state: "healthy", causes: [] });
  });

  test("a warning makes it degraded, a failure down, and the failure is named first", () => {
    const [bad, odd] = [found("b", failed("nothing works", "x")), found("a", warning("it is slow", "x"))];
    expect(healthOf([odd]).state).toBe("degraded");
    const { state, causes } = healthOf([odd, bad]);
    expect(state).toBe("down");
    expect(causes.map(({ text }) => text)).toEqual(["nothing works", "it is slow"]);
  });
});

describe("the causes", () => {
  test("what is said in the same words is one cause with its subjects", () => {
    const { causes } = healthOf(["10.0.3.7", "10.0.3.8"].map(refused));
    expect(causes.map(({ text }) => text)).toEqual(["agent refused: it expired, 2 × (10.0.3.7, 10.0.3.8)"]);
    expect(causes[0]!.findings).toHaveLength(2);
  });

  test("of many subjects the first three are named", () => {
    const { causes } = healthOf(["a", "b", "c", "d"].map((name) => refused(`host-${name}`)));
    expect(causes[0]!.text).toBe("agent refused: it expired, 4 × (host-a, host-b, host-c, …)");
  });

  test("a subject that is in the words already is not repeated", () => {
    const slow = { ...warning("slow", "x"), short: "node-3 342 ms", subject: "node-3" };
    expect(healthOf([found("slow-agents", slow)]).causes[0]!.text).toBe("node-3 342 ms");
  });
});
