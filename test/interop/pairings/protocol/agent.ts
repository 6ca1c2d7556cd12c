import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { within } from "../../../support/processes/deadline.js";
import type { Origin } from "../../../support/processes/executables.js";
import { ForeignAgent } from "../foreign/agent.js";
import { freshRandom } from "../foreign/caller.js";
import { bareServer } from "./bare-server.js";
import { deviations } from "./deviations.js";
import { dialUpTo, establish, expectLateAnswerClosed, expectWorking } from "./dialling.js";

const DIAL_TIMEOUT_MS = 1_000;

/** What an agent may send, in order and out of it, and what the server makes of it. */
export function agentPackets(origin: Origin): void {
  describe(`packets from an agent, server ${origin}`, () => {
    const bare = bareServer(origin, "grpc-uds", ["--server-id=server-of-the-test", "--server-count=3"]);

    test("greets an agent with its own ID and the server count", async () => {
      const headers = await (await bare().agent()).stream.headers;
      expect(headers.get("serverid")).toEqual(["server-of-the-test"]);
      expect(headers.get("servercount")).toEqual(["3"]);
    });

    test("refuses an agent without an ID", async () => {
      const nameless = new ForeignAgent(bare().server.place.agentPort, bare().pki, {});
      const ending = await within(5_000, "the refusal", nameless.stream.ended);
      nameless.leave();
      expect(ending.code).toBe(status.UNKNOWN);
      expect(ending.details).toMatch(/^expected one agent ID in the context, got \[\]/);
    });

    test("forwards the agent's reason for a failed dial", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const random = await dialUpTo(agent, caller);
      const error = "dial tcp 192.0.2.7:10250: connect: connection refused";
      agent.stream.send({ type: "DIAL_RSP", error, connectID: 0n, random });
      const response = await caller.next("DIAL_RSP");
      expect(response).toMatchObject({ random, connectID: 0n });
      expect(response.error.startsWith(error)).toBe(true);
      if (deviations.refusalText[origin] === "the bare text") expect(response.error).toBe(error);
    });

    test("forwards DIAL_CLS", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const random = await dialUpTo(agent, caller);
      agent.stream.send({ type: "DIAL_CLS", random });
      expect(await caller.next("DIAL_CLS")).toEqual({ type: "DIAL_CLS", random });
    });

    test("closes connections it does not know, and ignores what needs no answer", async () => {
      const agent = await bare().agent();
      agent.stream.send({ type: "DATA", connectID: 0n, data: Buffer.from("from nobody") });
      agent.stream.send({ type: "CLOSE_RSP", connectID: 77n, error: "" });
      agent.stream.send({ type: "CLOSE_REQ", connectID: 78n });
      agent.stream.send({ type: "DIAL_CLS", random: freshRandom() });
      agent.stream.sendRaw(Buffer.from([0x08, 0x63]));
      agent.stream.send({ type: "DATA", connectID: 79n, data: Buffer.from("from a stranger") });
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 79n });
      await expectLateAnswerClosed(agent, freshRandom());
      expect(agent.stream.untaken).toEqual([]);
    });

    test(`ends a caller's connection when its agent is gone: ${deviations.agentLost[origin]}`, async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      await expectWorking(agent, caller, 1n);
      agent.leave();
      const error = deviations.agentLost[origin] === "it was cut" ? "the agent's stream ended" : "";
      expect(await caller.next("CLOSE_RSP")).toEqual({ type: "CLOSE_RSP", connectID: 1n, error });
    });

    test(`loses its agent in mid-dial: ${deviations.agentLostInDial[origin]}`, async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const random = await dialUpTo(agent, caller);
      agent.leave();
      await bare().server.untilAlone();
      if (deviations.agentLostInDial[origin] === "the dial fails at once") {
        const response = await caller.next("DIAL_RSP");
        expect(response).toMatchObject({ random, connectID: 0n });
        expect(response.error).not.toBe("");
      } else {
        await expectWorking(await bare().agent(), bare().proxyStream(), 1n);
        expect(caller.untaken).toEqual([]);
      }
    });

    test("prefers agents that are not draining, and uses draining ones when there is no other", async () => {
      const [leaving, staying] = [await bare().agent(), await bare().agent()];
      leaving.stream.send({ type: "DRAIN" });
      await leaving.settled();
      for (let i = 1n; i <= 12n; i++) await establish(staying, bare().proxyStream(), i);
      staying.stream.send({ type: "DRAIN" });
      await staying.settled();
      const caller = bare().proxyStream();
      caller.send({ type: "DIAL_REQ", protocol: "tcp", address: "192.0.2.8:443", random: freshRandom() });
      await Promise.any([leaving.stream.next("DIAL_REQ"), staying.stream.next("DIAL_REQ")]);
    });
  });

  describe(`a dial that nobody answers, server ${origin}`, () => {
    const bare = bareServer(origin, "grpc-uds", [`--backend-dial-timeout=${DIAL_TIMEOUT_MS}ms`]);

    test("fails at its deadline, and a late answer is closed", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      // Before the dial is sent: the server's time cannot have begun earlier, however late we hear of anything.
      const sentAt = performance.now();
      const random = await dialUpTo(agent, caller);
      const response = await caller.next("DIAL_RSP");
      expect(performance.now() - sentAt).toBeGreaterThan(DIAL_TIMEOUT_MS - 200);
      expect(response).toMatchObject({ random, connectID: 0n });
      expect(response.error).toMatch(/^timed out waiting for backend dial/);
      await expectLateAnswerClosed(agent, random);
      await expectWorking(agent, bare().proxyStream(), 1n);
    });
  });

  describe(`a message without payload from an agent, server ${origin}`, () => {
    const bare = bareServer(origin, "grpc-uds");

    test(deviations.missingPayload[origin], async () => {
      const agent = await bare().agent();
      agent.stream.sendRaw(Buffer.from("0801", "hex"));
      if (deviations.missingPayload[origin] === "the process crashes") {
        // Its panic waits in a deferred function for the stream's end.
        agent.stream.end();
        const exit = await within(5_000, "the crash", bare().server.process.exited);
        expect(exit).toEqual({ code: 2, signal: null });
        return;
      }
      const ending = await within(5_000, "the stream to end", agent.stream.ended);
      // With a status of its own: a bare reset would leave the peer guessing.
      expect(ending.code).not.toBe(status.OK);
      expect(ending.details).not.toMatch(/RST_STREAM/);
      await expectWorking(await bare().agent(), bare().proxyStream(), 1n);
    });
  });
}
