/** The Ignition server on loopback with everything a fetch leaves behind, and a machine that asks it. */
import { once } from "node:events";
import { request } from "node:https";
import { systemClock } from "../../../base/clock.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { startIgnitionServer } from "../../ignition/server/serve.js";
import type { TokenStore } from "../../ignition/server/tokens.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { encoded, type Secret } from "../objects.js";
import { Recorder } from "../serving/recorder.js";

export interface IgnitionFixtureOptions {
  readonly tokens: TokenStore;
  readonly api: KubeApi;
  readonly namespace: string;
  readonly secret: (name: string) => Secret | undefined;
}

export interface FetchAnswer {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
}

/** Events of a kind are a minute apart, so machines come once an hour. */
const betweenMs = 60 * 60_000;

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${encoded(token)}` });

export async function startIgnition({ api, tokens, namespace, secret }: IgnitionFixtureOptions) {
  const authority = await createAuthority({ commonName: "ignition-root-ca" });
  const pair = await issueCertificate(authority, {
    ...{ use: "server", commonName: "ignition-server", ipAddresses: ["127.0.0.1"] },
  });
  const current = { cert: pair.certificatePem, key: pair.privateKeyPem };
  const events: string[] = [];
  const withEvents = {
    ...api,
    create: async (_path: string, event: KubeObject) => {
      const { involvedObject, message, reason, type } = event as KubeObject & Record<string, never>;
      events.push(`${type} ${reason} "${message}" ${(involvedObject as KubeObject["metadata"])?.name}`);
      return event;
    },
  } as KubeApi;
  const recorder = new Recorder({
    ...{ api: withEvents, namespace, secret, audit: () => {}, claims: [], makesEvents: true },
    onError: (sentence) => events.push(sentence),
  });
  let times = 0;
  const passed = () => ++times * betweenMs;
  const server = await startIgnitionServer(
    { host: "127.0.0.1", port: 0, certificates: () => ({ current, close: () => {} }) },
    {
      tokens,
      recorder,
      clock: { ...systemClock, now: passed, date: () => Date.parse("2031-01-01T00:00:00Z") + passed() },
    },
  );

  return {
    /** Since the last time. */
    events: () => events.splice(0),
    async ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<FetchAnswer> {
      const at = { host: "127.0.0.1", port: server.port, ca: authority.certificatePem, agent: false };
      const sent = request({ ...at, path, method, headers });
      sent.end();
      const [response] = await once(sent, "response");
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const type = response.headers["content-type"] as string | undefined;
      return { status: response.statusCode as number, type, body: Buffer.concat(chunks).toString() };
    },
    /** What is still to be written is written then. */
    async close(): Promise<void> {
      await server.close();
      await recorder.close();
    },
  };
}
