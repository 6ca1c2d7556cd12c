import { describe, expect, test } from "vitest";
import { readExactly, readToEnd } from "../../../support/callers/bytes.js";
import {
  askFrontend,
  type ConnectFrontend,
  connectRequest,
  openFrontend,
  readAnswer,
} from "../../../support/callers/connect.js";
import type { Origin } from "../../../support/processes/executables.js";
import { connectFrontend } from "../../../support/processes/server.js";
import { bareServer } from "./bare-server.js";
import { deviations } from "./deviations.js";
import { ADDRESS, expectLateAnswerClosed } from "./dialling.js";

const DIAL_TIMEOUT_MS = 1_000;
/** Longer than any answer is waited for here: what comes did not come because a deadline had passed. */
const PATIENT = "--backend-dial-timeout=30s";
const PLAIN = "Content-Type: text/plain; charset=utf-8\r\n\r\n";

/** Every answer a CONNECT frontend gives, byte for byte. */
export function connectAnswers(origin: Origin): void {
  describe(`answers of a CONNECT frontend, server ${origin}`, () => {
    const bare = bareServer(origin, "connect-uds", [PATIENT]);
    const frontend = () => connectFrontend(bare().server.place, bare().pki);
    const wholeAnswer = (request: string) => askWhole(frontend(), request);
    const expectRefusal = refusalOf(origin);

    test("asks for CONNECT and keeps the connection", async () => {
      const { head, socket } = await askFrontend(frontend(), "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
      const body = "this proxy only supports CONNECT passthrough\n";
      expect(head.replace(/Date: [^\r]+/, "Date: now")).toBe(
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\n" +
          `X-Content-Type-Options: nosniff\r\nDate: now\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      expect(String(await readExactly(socket, body.length))).toBe(body);
      socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
      expect((await readAnswer(socket)).status).toBe(405);
      socket.destroy();
    });

    test("answers what is not HTTP with 400", async () => {
      expect(await wholeAnswer("what is this?\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    });

    test("answers 500 without an agent", async () => {
      expectRefusal(
        await wholeAnswer(connectRequest(ADDRESS)),
        "HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\n",
        "currently no tunnels available: No agent available",
      );
    });

    test.each([
      ["502 Bad Gateway", "dial tcp 192.0.2.7:10250: connect: connection refused"],
      ["502 Bad Gateway", "dial tcp: lookup nowhere.example: no such host"],
      ["502 Bad Gateway", "something nobody has heard of"],
      ["503 Service Unavailable", "dial tcp 192.0.2.7:10250: socket: too many open files"],
      ["504 Gateway Timeout", "dial tcp 192.0.2.7:10250: i/o timeout"],
      ["504 Gateway Timeout", "context Deadline Exceeded"],
    ])("answers %s when the agent says: %s", async (statusText, error) => {
      const agent = await bare().agent();
      const answer = wholeAnswer(connectRequest(ADDRESS));
      const { random } = await agent.stream.next("DIAL_REQ");
      agent.stream.send({ type: "DIAL_RSP", error, connectID: 0n, random });
      expectRefusal(await answer, `HTTP/1.1 ${statusText}\r\nConnection: close\r\n${PLAIN}`, error);
    });

    test("writes nothing when the agent gives up the dial", async () => {
      const agent = await bare().agent();
      const answer = wholeAnswer(connectRequest(ADDRESS));
      const { random } = await agent.stream.next("DIAL_REQ");
      agent.stream.send({ type: "DIAL_CLS", random });
      expect(await answer).toBe("");
    });

    test("answers 502 when the agent is gone in mid-dial", async () => {
      const agent = await bare().agent();
      const answer = wholeAnswer(connectRequest(ADDRESS));
      await agent.stream.next("DIAL_REQ");
      agent.leave();
      expectRefusal(
        await answer,
        `HTTP/1.1 502 Bad Gateway\r\n${PLAIN}`,
        "Backend context error: context canceled\r\n",
      );
    });

    test.each([
      ["another Host", "Host: elsewhere.example:1\r\nUser-Agent: curl/8\r\n"],
      ["no Host at all", ""],
    ])("dials the request target, with %s, and keeps bytes sent behind the request", async (_, headers) => {
      const agent = await bare().agent();
      const answer = askFrontend(frontend(), `CONNECT ${ADDRESS} HTTP/1.1\r\n${headers}\r\nsent too early`);
      const { address, protocol, random } = await agent.stream.next("DIAL_REQ");
      expect({ address, protocol }).toEqual({ address: ADDRESS, protocol: "tcp" });
      agent.stream.send({ type: "DIAL_RSP", error: "", connectID: 3n, random });
      const { head, bytesBehindHead, socket } = await answer;
      expect(head).toBe("HTTP/1.1 200 Connection Established\r\n\r\n");
      expect(bytesBehindHead).toBe(0);
      expect(await agent.stream.next("DATA")).toEqual({
        type: "DATA",
        connectID: 3n,
        data: Buffer.from("sent too early"),
      });
      agent.stream.send({ type: "DATA", connectID: 3n, data: Buffer.from("answer") });
      agent.stream.send({ type: "CLOSE_RSP", connectID: 3n, error: "" });
      expect(String((await readToEnd(socket)).bytes)).toBe("answer");
      socket.destroy();
    });

    test(`its caller hangs up in mid-dial: ${deviations.callerHangsUp[origin]}`, async () => {
      const agent = await bare().agent();
      const socket = await openFrontend(frontend());
      socket.write(connectRequest(ADDRESS));
      const { random } = await agent.stream.next("DIAL_REQ");
      socket.destroy();
      if (deviations.callerHangsUp[origin] === "the agent is told") {
        expect(await agent.stream.next("DIAL_CLS")).toEqual({ type: "DIAL_CLS", random });
        await expectLateAnswerClosed(agent, random);
      } else {
        await agent.settled();
        expect(agent.stream.untaken).toEqual([]);
      }
    });
  });

  describe(`a CONNECT dial that nobody answers, server ${origin}`, () => {
    const bare = bareServer(origin, "connect-uds", [`--backend-dial-timeout=${DIAL_TIMEOUT_MS}ms`]);

    test("gets 504 at its deadline, and what comes late is closed", async () => {
      const agent = await bare().agent();
      const answer = askWhole(connectFrontend(bare().server.place, bare().pki), connectRequest(ADDRESS));
      const { random } = await agent.stream.next("DIAL_REQ");
      refusalOf(origin)(
        await answer,
        `HTTP/1.1 504 Gateway Timeout\r\n${PLAIN}`,
        "Backend dial timeout: timed out waiting for backend dial\r\n",
      );
      await expectLateAnswerClosed(agent, random);
    });
  });
}

/** Everything the server wrote before it closed the connection. */
async function askWhole(frontend: ConnectFrontend, request: string): Promise<string> {
  const socket = await openFrontend(frontend);
  socket.write(request);
  const { bytes } = await readToEnd(socket, 10_000);
  socket.destroy();
  return bytes.toString("latin1");
}

function refusalOf(origin: Origin) {
  return (answer: string, head: string, text: string): void => {
    expect(answer.slice(0, head.length + text.length)).toBe(head + text);
    if (deviations.refusalText[origin] === "the bare text") expect(answer).toBe(head + text);
  };
}
