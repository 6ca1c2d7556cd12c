import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { RouteError } from "./errors.js";
import { firstReachable } from "./first-reachable.js";

const NEVER = new AbortController().signal;
const failure = (kind: "refused" | "path") => new RouteError(kind, "DB_DIAL_FAILED", kind);

/** Addresses that answer when they are told to. */
function addresses() {
  const clock = new ManualClock();
  const opened = new Map<
    string,
    { answer: (stream: PassThrough) => void; fail: (why: Error) => void; stop: AbortSignal }
  >();
  const dial = (names: readonly string[], stop = NEVER) =>
    firstReachable(
      names,
      stop,
      (address, signal) =>
        new Promise((answer, fail) => {
          opened.set(address, { answer, fail, stop: signal });
        }),
      clock,
    );
  return { clock, opened, dial };
}

test("the next address is tried beside one that is silent, and the first to answer wins", async () => {
  const { clock, opened, dial } = addresses();
  const stream = dial(["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  clock.advance(299);
  expect([...opened.keys()]).toEqual(["10.0.0.1"]);
  clock.advance(1);
  expect([...opened.keys()]).toEqual(["10.0.0.1", "10.0.0.2"]);
  const answer = new PassThrough();
  opened.get("10.0.0.2")!.answer(answer);
  expect(await stream).toBe(answer);
  expect(opened.get("10.0.0.1")!.stop.aborted).toBe(true);
  expect(opened.get("10.0.0.2")!.stop.aborted).toBe(false);
  expect(clock.waiting).toEqual([]);
  const late = new PassThrough();
  opened.get("10.0.0.1")!.answer(late);
  await turn();
  expect(late.destroyed).toBe(true);
  expect(answer.destroyed).toBe(false);
});

test("the next address is tried at once when one refuses", async () => {
  const { opened, dial } = addresses();
  const stream = dial(["10.0.0.1", "10.0.0.2"]);
  opened.get("10.0.0.1")!.fail(failure("refused"));
  await turn();
  const answer = new PassThrough();
  opened.get("10.0.0.2")!.answer(answer);
  expect(await stream).toBe(answer);
});

test("IPv4 and IPv6 are tried in turn, and no more than four addresses", async () => {
  const { clock, opened, dial } = addresses();
  const ended = new AbortController();
  const stream = dial(["fd00::1", "fd00::2", "fd00::3", "10.0.0.1", "10.0.0.2"], ended.signal);
  clock.advance(10_000);
  expect([...opened.keys()]).toEqual(["fd00::1", "10.0.0.1", "fd00::2", "10.0.0.2"]);
  ended.abort(new Error("too late"));
  await expect(stream).rejects.toThrow("too late");
  expect([...opened.values()].every(({ stop }) => stop.aborted)).toBe(true);
});

test("when none answers, the first address' reason is told", async () => {
  const { opened, dial } = addresses();
  const stream = dial(["10.0.0.1", "10.0.0.2"]);
  const first = failure("refused");
  opened.get("10.0.0.1")!.fail(first);
  await turn();
  opened.get("10.0.0.2")!.fail(failure("refused"));
  await expect(stream).rejects.toBe(first);
});

test("a failure of the way there is no reason to try another address", async () => {
  const { clock, opened, dial } = addresses();
  const stream = dial(["10.0.0.1", "10.0.0.2"]);
  const broken = failure("path");
  opened.get("10.0.0.1")!.fail(broken);
  await expect(stream).rejects.toBe(broken);
  clock.advance(1_000);
  expect([...opened.keys()]).toEqual(["10.0.0.1"]);
});
