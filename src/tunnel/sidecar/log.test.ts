import { expect, onTestFinished, test, vi } from "vitest";
import { Logger } from "../../base/log/log.js";
import { connectionClosed, fallbackChanged, probeEnded, requestDecided } from "./channels.js";
import type { RelayedConnection } from "./connection-handler.js";
import { logSidecar } from "./log.js";

function logOf(verbosity: number) {
  let text = "";
  const write = (bytes: Buffer, done: () => void): void => {
    text += bytes.toString();
    done();
  };
  const source = {};
  onTestFinished(logSidecar(new Logger({ format: "text", verbosity, write }), source));
  return { source, lines: () => text.split("\n").filter((line) => line !== "") };
}

test("every connection is logged only from verbosity 5 on", () => {
  const [usual, chatty] = [logOf(4), logOf(5)];
  for (const { source } of [usual, chatty]) {
    requestDecided.publish({
      source,
      listener: "a",
      kind: "connect",
      outcome: "established",
      target: "b:1",
      error: "",
    });
    const bytes = { bytesToTarget: 1, bytesFromTarget: 2 };
    const connection = {} as RelayedConnection;
    connectionClosed.publish({ source, connection, listener: "a", target: "b:1", durationMs: 3, ...bytes, error: "" });
  }
  expect(usual.lines()).toHaveLength(0);
  expect(chatty.lines()).toHaveLength(2);
  expect(chatty.lines()[1]).toMatch(/connection closed .*target="b:1".*bytesFromTarget=2/);
});

test("refusals are logged with their reason, at a bounded rate", () => {
  // However long the thousand take: more are logged as time goes by.
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { source, lines } = logOf(4);
  for (let i = 0; i < 1_000; i++) {
    requestDecided.publish({
      source,
      listener: "a",
      kind: "socks5",
      outcome: "name",
      target: "x:1",
      error: "no such host",
    });
  }
  expect(lines()[0]).toMatch(/^W.*request was not served .*outcome="name".*error="no such host"/);
  expect(lines()).toHaveLength(100);
});

test("probes and the fallback are logged when they change", () => {
  const { source, lines } = logOf(4);
  const probes = [
    ["", undefined],
    ["lost", undefined],
    ["lost", undefined],
    ["gone", "DB_NO_AGENT"],
    ["", undefined],
    ["", undefined],
  ] as const;
  for (const [error, code] of probes) probeEnded.publish({ source, listener: "a", error, ...(code && { code }) });
  fallbackChanged.publish({ source, listener: "a", active: true, why: "no answer" });
  fallbackChanged.publish({ source, listener: "a", active: false, why: "" });
  expect(lines().map((line) => line.replace(/^(.).*?\] /, "$1 "))).toEqual([
    'W the probe through the tunnel fails listener="a" error="lost"',
    expect.stringMatching(
      /^W the probe through the tunnel fails listener="a" error="gone" code="DB_NO_AGENT" remedy="Look /,
    ),
    'I the probe through the tunnel works again listener="a"',
    'W the tunnel does not work; targets are dialled straight from here listener="a" why="no answer"',
    'I the tunnel works again listener="a"',
  ]);
});
