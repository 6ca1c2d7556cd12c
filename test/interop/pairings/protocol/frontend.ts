import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { waitUntil, within } from "../../../support/processes/deadline.js";
import type { Origin } from "../../../support/processes/executables.js";
import { metric } from "../../../support/processes/http.js";
import type { ServerProcess } from "../../../support/processes/server.js";
import { freshRandom } from "../foreign/caller.js";
import { bareServer } from "./bare-server.js";
import { deviations } from "./deviations.js";
import { ADDRESS, dialUpTo, establish, expectLateAnswerClosed, expectWorking } from "./dialling.js";

const MAX_MESSAGE = 4 * 1024 * 1024;

/** What a gRPC caller may send, in order and out of it, and what the server makes of it. */
export function callerPackets(origin: Origin): void {
  describe(`packets from a gRPC caller, server ${origin}`, () => {
    const bare = bareServer(origin, "grpc-uds");

    test("forwards packets unchanged, also numbers beyond 2^53, and closes in order", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const connectID = 2n ** 53n + 1n;
      await expectWorking(agent, caller, connectID);
      caller.send({ type: "CLOSE_REQ", connectID });
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID });
      agent.stream.send({ type: "CLOSE_RSP", connectID, error: "" });
      expect(await caller.next("CLOSE_RSP")).toEqual({ type: "CLOSE_RSP", connectID, error: "" });
      caller.end();
      expect((await within(5_000, "the stream to end", caller.ended)).code).toBe(status.OK);
    });

    test("refuses a dial when there is no agent", async () => {
      const caller = bare().proxyStream();
      const random = freshRandom();
      caller.send({ type: "DIAL_REQ", protocol: "tcp", address: ADDRESS, random });
      const response = await caller.next("DIAL_RSP");
      expect(response).toMatchObject({ connectID: 0n, random });
      expect(response.error).toMatch(/^No agent available/);
      if (deviations.refusalText[origin] === "the bare text") expect(response.error).toBe("No agent available");
    });

    test("answers DATA before any dial with CLOSE_RSP", async () => {
      const caller = bare().proxyStream();
      caller.send({ type: "DATA", connectID: 5n, data: Buffer.from("early") });
      const expected = { type: "CLOSE_RSP", connectID: 5n, error: "backend not initialized" };
      expect(await caller.next("CLOSE_RSP")).toEqual(expected);
    });

    test("answers CLOSE_REQ before any dial with CLOSE_RSP and goes on", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      caller.send({ type: "CLOSE_REQ", connectID: 5n });
      const expected = { type: "CLOSE_RSP", connectID: 5n, error: "backend uninitialized" };
      expect(await caller.next("CLOSE_RSP")).toEqual(expected);
      await expectWorking(agent, caller, 1n);
    });

    test("ignores DATA without a connection number", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      await establish(agent, caller, 1n);
      caller.send({ type: "DATA", connectID: 0n, data: Buffer.from("to nobody") });
      caller.send({ type: "DATA", connectID: 1n, data: Buffer.from("to 1") });
      expect(await agent.stream.next("DATA")).toEqual({ type: "DATA", connectID: 1n, data: Buffer.from("to 1") });
    });

    test("ends a caller's connection when its DATA names another", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      await expectWorking(agent, caller, 1n);
      caller.send({ type: "DATA", connectID: 2n, data: Buffer.from("mixed up") });
      const error = "mismatched connection IDs";
      if (deviations.foreignConnection[origin] === "closed at the agent") {
        expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 2n });
      }
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 1n });
      expect(await caller.next("CLOSE_RSP")).toEqual({ type: "CLOSE_RSP", connectID: 2n, error });
      expect(await caller.next("CLOSE_RSP")).toEqual({ type: "CLOSE_RSP", connectID: 1n, error });
    });

    test("ignores a packet type it does not know", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      caller.sendRaw(Buffer.from([0x08, 0x63]));
      await expectWorking(agent, caller, 1n);
    });

    test("ends a stream whose message is larger than 4 MiB, and only that", async () => {
      const [agent, other, caller] = [await bare().agent(), bare().proxyStream(), bare().proxyStream()];
      caller.sendRaw(Buffer.alloc(MAX_MESSAGE + 1));
      const ending = await within(10_000, "the stream to end", caller.ended);
      expect(ending.code).toBe(status.RESOURCE_EXHAUSTED);
      expect(ending.details).toContain(`larger than max (${MAX_MESSAGE + 1} vs. ${MAX_MESSAGE})`);
      await expectWorking(agent, other, 1n);
    });

    test("carries a message of just 4 MiB", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      await establish(agent, caller, 1n);
      // 2 bytes type, 1 + 4 bytes payload head, 2 bytes connection number, 1 + 4 bytes data head.
      const data = Buffer.alloc(MAX_MESSAGE - 14, "x");
      caller.send({ type: "DATA", connectID: 1n, data });
      const parts: Buffer[] = [];
      for (let size = 0; size < data.length; size += parts.at(-1)!.length) {
        parts.push((await agent.stream.next("DATA")).data);
      }
      expect(Buffer.concat(parts).equals(data)).toBe(true);
    });

    test("forgets a dial its caller cancelled, and closes what still comes of it", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const random = await dialUpTo(agent, caller);
      const cancelledBefore = await cancelledDials(bare().server);
      caller.send({ type: "DIAL_CLS", random });
      await waitUntil("the cancel to be counted", async () => (await cancelledDials(bare().server)) > cancelledBefore);
      if (deviations.callerCancelsDial[origin] === "the agent is told") {
        expect(await agent.stream.next("DIAL_CLS")).toEqual({ type: "DIAL_CLS", random });
      }
      await expectLateAnswerClosed(agent, random);
      expect(caller.untaken).toEqual([]);
    });

    test("tells the agent when a caller is gone in mid-dial", async () => {
      const [agent, caller] = [await bare().agent(), bare().proxyStream()];
      const random = await dialUpTo(agent, caller);
      caller.cancel();
      expect(await agent.stream.next("DIAL_CLS")).toEqual({ type: "DIAL_CLS", random });
      await expectLateAnswerClosed(agent, random);
    });

    test("tells the agent when a caller is gone, by reset or by end of stream", async () => {
      const agent = await bare().agent();
      const [reset, ended] = [bare().proxyStream(), bare().proxyStream()];
      await expectWorking(agent, reset, 1n);
      await expectWorking(agent, ended, 2n);
      reset.cancel();
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 1n });
      ended.end();
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 2n });
      expect((await within(5_000, "the stream to end", ended.ended)).code).toBe(status.OK);
    });

    test("keeps two streams of one session apart", async () => {
      const [agent, session] = [await bare().agent(), bare().caller()];
      const [one, two] = [session.open(), session.open()];
      await expectWorking(agent, one, 1n);
      await expectWorking(agent, two, 2n);
      one.cancel();
      expect(await agent.stream.next("CLOSE_REQ")).toEqual({ type: "CLOSE_REQ", connectID: 1n });
      two.send({ type: "DATA", connectID: 2n, data: Buffer.from("undisturbed") });
      expect(String((await agent.stream.next("DATA")).data)).toBe("undisturbed");
    });
  });

  describe(`a message without payload from a gRPC caller, server ${origin}`, () => {
    const bare = bareServer(origin, "grpc-uds");
    const messages = [
      ["no bytes at all", ""],
      ["DATA without its payload", "0804"],
      ["a payload of another type", "08041a00"],
    ] as const;
    // One is enough to show a crash, and the second would need another server.
    const sent = deviations.missingPayload[origin] === "the process crashes" ? messages.slice(0, 1) : messages;

    test.each(sent)(`%s: ${deviations.missingPayload[origin]}`, async (_, hex) => {
      const { server, proxyStream, agent } = bare();
      const caller = proxyStream();
      caller.sendRaw(Buffer.from(hex, "hex"));
      if (deviations.missingPayload[origin] === "the process crashes") {
        // Its panic waits in a deferred function for the stream's end.
        caller.end();
        expect(await within(5_000, "the crash", server.process.exited)).toEqual({ code: 2, signal: null });
        return;
      }
      const ending = await within(5_000, "the stream to end", caller.ended);
      // With a status of its own: a bare reset would leave the peer guessing.
      expect(ending.code).not.toBe(status.OK);
      expect(ending.details).not.toMatch(/RST_STREAM/);
      await expectWorking(await agent(), proxyStream(), 1n);
    });
  });
}

function cancelledDials(server: ServerProcess): Promise<number> {
  return metric(
    server.place.healthPort,
    "konnectivity_network_proxy_server_dial_failure_count",
    '{reason="frontend_close"}',
  );
}
