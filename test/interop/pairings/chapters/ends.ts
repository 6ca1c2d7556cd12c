import { expect, test } from "vitest";
import { payload, readExactly, readToEnd, sha256 } from "../../../support/callers/bytes.js";
import type { AgentProcess } from "../../../support/processes/agent.js";
import { waitUntil, within } from "../../../support/processes/deadline.js";
import { metricSum } from "../../../support/processes/http.js";
import { GO, startSource } from "../../../support/targets/bulk.js";
import { startAnswerAfterEnd, startSteered } from "../../../support/targets/half-open.js";
import { carriesHalfClose, type PairingFixture, PROMPTLY_MS } from "../pairing.js";

const REQUEST = payload("request", 256 * 1024);
const ANSWER = payload("answer", 1024 * 1024);
/** More than the kernel holds for a reader that has stopped, and less than that plus what an agent may queue (4 MB). */
const SPEECH = payload("speech", 5 * 1024 * 1024);

/** Half-open ends: kept where all hops are ours, upstream's teardown (everything before the end, then close) elsewhere. */
export function ends(fixture: PairingFixture): void {
  test("delivers everything an endpoint said before it ended, then the end", async () => {
    const source = await startSource(ANSWER);
    try {
      const socket = await fixture.tunnel().open(source.address);
      socket.write(GO);
      const ending = await readToEnd(socket);
      socket.destroy();
      expect(sha256(ending.bytes)).toBe(sha256(ANSWER));
      expect(ending.error).toBeUndefined();
    } finally {
      await source.close();
    }
  });

  if (carriesHalfClose(fixture.pairing)) halfClose(fixture);
  else teardown(fixture);
}

function halfClose({ tunnel }: PairingFixture): void {
  test("lets a caller end its side and still hear the whole answer", async () => {
    const endpoint = await startAnswerAfterEnd((request) => Buffer.concat([Buffer.from(sha256(request)), ANSWER]));
    try {
      const socket = await tunnel().open(endpoint.address);
      socket.end(REQUEST);
      const { bytes, error } = await readToEnd(socket);
      expect(error).toBeUndefined();
      expect(bytes.subarray(0, 64).toString()).toBe(sha256(REQUEST));
      expect(sha256(bytes.subarray(64))).toBe(sha256(ANSWER));
    } finally {
      await endpoint.close();
    }
  });

  test("lets a caller go on speaking after the endpoint ended its side", async () => {
    const endpoint = await startSteered();
    try {
      const socket = await tunnel().open(endpoint.address);
      const conversation = await endpoint.next();
      conversation.socket.end(ANSWER);
      expect(sha256((await readToEnd(socket)).bytes)).toBe(sha256(ANSWER));
      socket.end(REQUEST);
      await within(PROMPTLY_MS, "the endpoint to hear the caller's end", conversation.inputEnded);
      expect(sha256(conversation.received())).toBe(sha256(REQUEST));
      await within(PROMPTLY_MS, "the endpoint's connection to close", conversation.closed);
    } finally {
      await endpoint.close();
    }
  });
}

function teardown({ pairing, tunnel }: PairingFixture): void {
  test("closes both sides when a caller ends its own, after what was said before", async () => {
    const endpoint = await startSteered();
    try {
      const socket = await tunnel().open(endpoint.address);
      const conversation = await endpoint.next();
      conversation.socket.write(ANSWER);
      expect(sha256(await readExactly(socket, ANSWER.length))).toBe(sha256(ANSWER));
      socket.write(REQUEST);
      await waitUntil("the request to arrive", () => conversation.received().length === REQUEST.length);
      socket.end();
      await within(PROMPTLY_MS, "the endpoint to hear the end", conversation.inputEnded);
      expect(sha256(conversation.received())).toBe(sha256(REQUEST));
      expect((await readToEnd(socket, PROMPTLY_MS)).bytes.length).toBe(0);
      socket.destroy();
    } finally {
      await endpoint.close();
    }
  });

  // The Go agent drops what still waits for the endpoint when the close arrives.
  if (pairing.agent === "ours") test("hands a slow endpoint all that was said before the close", flushBeforeClose);

  async function flushBeforeClose(): Promise<void> {
    const endpoint = await startSteered();
    try {
      const [agent] = tunnel().agents;
      const closesBefore = await closeRequests(agent!);
      const socket = await tunnel().open(endpoint.address);
      const conversation = await endpoint.next();
      conversation.socket.pause();
      socket.end(SPEECH);
      // Between two ends of ours the window holds a long speech back, and the close behind it.
      if (pairing.server === "theirs") {
        await waitUntil("the close to reach the agent", async () => (await closeRequests(agent!)) > closesBefore);
      } else await waitUntil("the endpoint's buffers to be full", stalled(agent!));
      conversation.socket.resume();
      await within(PROMPTLY_MS, "the endpoint to hear the end", conversation.inputEnded);
      expect(sha256(conversation.received())).toBe(sha256(SPEECH));
      socket.destroy();
    } finally {
      await endpoint.close();
    }
  }
}

/** True once the same number of packets has reached the agent at several looks in a row. */
function stalled({ healthPort }: AgentProcess): () => Promise<boolean> {
  let last = -1;
  let same = 0;
  return async () => {
    const now = await metricSum(
      healthPort,
      "konnectivity_network_proxy_agent_stream_packets_total",
      'segment="to_agent"',
    );
    same = now === last ? same + 1 : 0;
    last = now;
    return same >= 5;
  };
}

function closeRequests({ healthPort }: AgentProcess): Promise<number> {
  return metricSum(
    healthPort,
    "konnectivity_network_proxy_agent_stream_packets_total",
    'packet_type="CLOSE_REQ"',
    'segment="to_agent"',
  );
}
