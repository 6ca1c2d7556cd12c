import { describe, expect, test } from "vitest";
import { type EndSeen, outcomeOf, type StreamSeen, stateOf } from "./outcome.js";

const end: EndSeen = { received: 10, expected: 10, sentAll: true, ended: true, truncated: false, failed: false };

test.each<[string, Partial<EndSeen>, string]>([
  ["all bytes and an orderly end are whole", {}, "whole"],
  ["an orderly end before all bytes are there looks whole", { received: 9 }, "short"],
  ["an orderly end of somebody who is still sending looks whole", { sentAll: false }, "short"],
  ["a failed connection is an error", { received: 9, failed: true }, "error"],
  ["a connection that is gone without an end is an error", { ended: false }, "error"],
  ["TLS without its goodbye is an error, whatever arrived", { truncated: true }, "error"],
])("%s", (_name, seen, state) => {
  expect(stateOf({ ...end, ...seen })).toBe(state);
});

const agentKilled = { victim: "agent", deed: "killed", drains: false } as const;
const serverKilled = { victim: "server", deed: "killed", drains: false } as const;
const serverDrained = { victim: "server", deed: "terminated", drains: true } as const;
const frozen = { victim: "server", deed: "frozen", drains: false } as const;
const cut: StreamSeen = {
  frontend: "connect-tls",
  caller: "error",
  endpoint: "error",
  kills: [serverKilled],
  pauses: false,
};

describe("a stream", () => {
  test.each<[string, Partial<StreamSeen>, string]>([
    ["whole at both ends", { caller: "whole", endpoint: "whole", kills: [] }, "whole at both ends"],
    ["with an error at both ends", {}, "an error at both ends"],
    ["whose last word was lost", { caller: "whole" }, "whole at one end, an error at the other"],
    [
      "on a Unix socket",
      { frontend: "connect", caller: "short" },
      "an error at one end, a plain end where nothing else can be sent",
    ],
    [
      "whose agent was killed",
      { endpoint: "short", kills: [agentKilled] },
      "an error at one end, a plain end where nothing else can be sent",
    ],
    [
      "that pauses while its server drains",
      { caller: "short", endpoint: "short", kills: [serverDrained], pauses: true },
      "closed as between two requests by a drain",
    ],
  ])("%s is in order", (_name, seen, outcome) => {
    expect(outcomeOf({ ...cut, ...seen })).toEqual({ outcome });
  });

  test.each<[string, Partial<StreamSeen>, string]>([
    ["that broke while a process was only frozen", { kills: [frozen] }, "a stream broke although nothing was killed"],
    ["cut short over TLS", { caller: "short" }, "a stream that was cut looks whole at the caller"],
    [
      "cut short for our gRPC client",
      { frontend: "grpc", caller: "short" },
      "a stream that was cut looks whole at the caller",
    ],
    [
      "cut short at an endpoint whose agent lives",
      { endpoint: "short" },
      "a stream that was cut looks whole at the endpoint",
    ],
    [
      "cut short at both ends, with a drain but without a pause",
      { caller: "short", endpoint: "short", kills: [serverDrained] },
      "a stream that was cut looks whole at the caller and the endpoint",
    ],
  ])("%s is wrong", (_name, seen, wrong) => {
    expect(outcomeOf({ ...cut, ...seen })).toEqual({ wrong });
  });
});
