import { expect } from "vitest";
import type { ForeignAgent } from "../foreign/agent.js";
import { freshRandom } from "../foreign/caller.js";
import type { PacketStream } from "../foreign/packet-stream.js";

export const ADDRESS = "192.0.2.7:10250";

/** Sends a DIAL_REQ and sees it arrive at the agent as it was sent. */
export async function dialUpTo(agent: ForeignAgent, caller: PacketStream, address = ADDRESS): Promise<bigint> {
  const random = freshRandom();
  const request = { type: "DIAL_REQ", protocol: "tcp", address, random } as const;
  caller.send(request);
  expect(await agent.stream.next("DIAL_REQ")).toEqual(request);
  return random;
}

/** A dial that the agent answers with success. */
export async function establish(agent: ForeignAgent, caller: PacketStream, connectID: bigint): Promise<bigint> {
  const random = await dialUpTo(agent, caller);
  const response = { type: "DIAL_RSP", error: "", connectID, random } as const;
  agent.stream.send(response);
  expect(await caller.next("DIAL_RSP")).toEqual(response);
  return random;
}

/** A tunnel that carries a byte each way: the server is alive and well. */
export async function expectWorking(agent: ForeignAgent, caller: PacketStream, connectID: bigint): Promise<void> {
  await establish(agent, caller, connectID);
  const data = Buffer.from(`through ${connectID}`);
  caller.send({ type: "DATA", connectID, data });
  expect(await agent.stream.next("DATA")).toEqual({ type: "DATA", connectID, data });
  agent.stream.send({ type: "DATA", connectID, data });
  expect(await caller.next("DATA")).toEqual({ type: "DATA", connectID, data });
}

let nextLate = 800_000_000n;

/**
 * An answer to a dial that is no longer wanted: the server must not leave the endpoint's connection open. It may have
 * told the agent before to stop dialling, which agents that do not know that packet ignore.
 */
export async function expectLateAnswerClosed(agent: ForeignAgent, random: bigint): Promise<void> {
  const connectID = nextLate++;
  agent.stream.send({ type: "DIAL_RSP", error: "", connectID, random });
  let answer = await agent.stream.nextOfAny();
  if (answer.type === "DIAL_CLS" && answer.random === random) answer = await agent.stream.nextOfAny();
  expect(answer).toEqual({ type: "CLOSE_REQ", connectID });
}
