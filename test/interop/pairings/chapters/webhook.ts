import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { startWebhook } from "../../../support/targets/webhook.js";
import type { PairingFixture } from "../pairing.js";

const REVIEW = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: { uid: "7f0b2891" } };

export function webhook({ tunnel }: PairingFixture): void {
  test("carries an admission review to an HTTPS webhook, twice on one connection", async () => {
    const { pki } = tunnel();
    const hook = await startWebhook(pki.webhook);
    const socket = connectTls({
      socket: await tunnel().open(hook.address),
      ca: readFileSync(pki.webhook.ca),
      servername: "localhost",
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    agent.createConnection = () => socket;
    try {
      for (let i = 1; i <= 2; i++) {
        const answer = await post(agent, JSON.stringify(REVIEW));
        expect(JSON.parse(answer)).toMatchObject({ response: { uid: REVIEW.request.uid, allowed: true } });
        expect(hook.reviews).toBe(i);
      }
    } finally {
      agent.destroy();
      socket.destroy();
      await hook.close();
    }
  });
}

function post(agent: Agent, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ agent, method: "POST", path: "/validate", timeout: 10_000 }, (response) => {
      let answer = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        answer += chunk;
      });
      response.once("end", () => resolve(answer));
    });
    call.once("error", reject);
    call.once("timeout", () => call.destroy(new Error("the webhook did not answer")));
    call.end(body);
  });
}
