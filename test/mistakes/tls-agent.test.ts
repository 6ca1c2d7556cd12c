/** An agent whose TLS to its server fails: named by the agent, by doctor beside it, and by the server that refused it. */
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { serverPlaces } from "./framework/scenes.js";
import { type AgentStart, PORT, type ServerStart, type Stage } from "./framework/stage.js";

interface Wrong {
  readonly agent?: AgentStart;
  readonly server?: ServerStart;
}

type Row = Omit<Mistake, "group" | "play"> & { wrong(stage: Stage): Promise<Wrong> | Wrong };

/** A server and an agent on one host, one of them started with the mistake. */
const row = ({ wrong, ...rest }: Row): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    const { agent = {}, server = {} } = isWrong ? await wrong(stage) : {};
    const serverProcess = await stage.server(server);
    const agentProcess = await stage.agent(agent);
    return {
      places: {
        "agent log": () => agentProcess.log.text,
        "agent readyz": () => stage.get(PORT.agentHealth, "/readyz?verbose"),
        "server log": () => serverProcess.log.text,
        "agent findings": () => stage.admin(PORT.agentAdmin, "findings"),
        "server findings": () => stage.admin(PORT.serverAdmin, "findings"),
        doctor: () => stage.doctor("--role", "agent"),
        "server doctor": () => stage.doctor("--role", "server"),
      },
      works: async () => (await stage.isAgentConnected()) === true,
    };
  },
});

/** The agent's own three places. */
const agentTells = (cause: RegExp, remedy: RegExp) => ({
  "agent log": { cause, remedy },
  "agent readyz": { cause },
  "agent findings": { cause },
  doctor: { cause, remedy },
});

/** The server's two, when it is the server that refuses. */
const serverTells = (cause: RegExp) => ({
  "server log": { cause },
  "server findings": { cause },
  "server doctor": { cause },
});

/** The server's, when the agent does not trust the server's certificate, which it does not say. */
const hungUpTells = (server: string) => {
  const cause = new RegExp(`hung up right after TLS without a word[^(]*\\(.{0,2}CN=${server}\\b`);
  const remedy = /give it the CA that issued it/;
  return { "server log": { cause, remedy }, "server findings": { cause, remedy }, "server doctor": { cause, remedy } };
};

const rows: readonly Mistake[] = [
  row({
    id: "tls-agent-wrong-ca",
    title: "agent's --ca-cert is not the authority of the server's certificate",
    wrong: ({ pki }) => ({ agent: { ca: pki.foreignCa.cert } }),
    tells: {
      ...agentTells(/cluster-ca[\s\S]*foreign-ca|foreign-ca[\s\S]*cluster-ca/, /--ca-cert/),
      ...hungUpTells("server"),
    },
  }),
  row({
    id: "tls-agent-foreign-certificate",
    title: "agent's certificate is of another authority than the server asks for",
    wrong: async ({ pki }) => ({ agent: { cert: await pki.make.issue(pki.foreignCa, "agent-of-others") } }),
    tells: {
      ...agentTells(/foreign-ca/, /--cluster-ca-cert|--agent-cert/),
      ...serverTells(/CN=agent-of-others[\s\S]*foreign-ca|foreign-ca[\s\S]*CN=agent-of-others/),
    },
  }),
  row({
    id: "tls-agent-expired",
    title: "agent's certificate has expired",
    wrong: async ({ pki }) => ({
      agent: { cert: await pki.make.issue(pki.ca, "agent-old", { fromMin: -600, untilMin: -37 }) },
    }),
    tells: { ...agentTells(/expired 3\d min/, /[Rr]enew|new certificate/), ...serverTells(/expired/) },
  }),
  row({
    id: "tls-agent-not-yet-valid",
    title: "agent's certificate is not valid yet",
    wrong: async ({ pki }) => ({ agent: { cert: await pki.make.issue(pki.ca, "agent-early", { fromMin: 120 }) } }),
    tells: {
      ...agentTells(/not valid (?:yet|before)|not yet valid/, /clock/),
      ...serverTells(/not valid (?:yet|before)|not yet valid/),
    },
  }),
  row({
    id: "tls-agent-server-use",
    title: "agent shows a certificate for servers, not for clients",
    wrong: ({ pki }) => ({ agent: { cert: pki.server } }),
    tells: {
      ...agentTells(/not for TLS clients/, /clientAuth/),
      ...serverTells(/not for TLS clients/),
    },
  }),
  row({
    id: "tls-agent-no-certificate",
    title: "agent shows no certificate to a server that asks for one",
    wrong: () => ({ agent: { cert: undefined } }),
    tells: {
      ...agentTells(/no (?:client )?certificate|without a certificate/, /--agent-cert/),
      ...serverTells(/no (?:client )?certificate|without a certificate/),
    },
  }),
  row({
    id: "tls-agent-missing-intermediate",
    title: "agent's file has its certificate without the intermediate authority",
    wrong: async ({ pki }) => {
      const middle = await pki.make.authority("middle-ca", pki.ca);
      return { agent: { cert: await pki.make.issue(middle, "agent-of-middle") } };
    },
    tells: { ...agentTells(/middle-ca/, /intermediate/), ...serverTells(/middle-ca/) },
  }),
  row({
    id: "tls-server-wrong-name",
    title: "server's certificate is not for the name that agents dial",
    wrong: async ({ pki }) => ({
      server: {
        cert: await pki.make.issue(pki.ca, "server-elsewhere", { use: "server", dns: ["bridge.example.com"] }),
      },
    }),
    tells: {
      ...agentTells(
        /127\.0\.0\.1[\s\S]*bridge\.example\.com|bridge\.example\.com[\s\S]*127\.0\.0\.1/,
        /--proxy-server-host|pki/,
      ),
      ...hungUpTells("server-elsewhere"),
    },
  }),
  row({
    id: "tls-server-expired",
    title: "server's certificate has expired",
    wrong: async ({ pki }) => ({
      server: {
        cert: await pki.make.issue(pki.ca, "server-old", {
          use: "server",
          ips: ["127.0.0.1"],
          fromMin: -600,
          untilMin: -37,
        }),
      },
    }),
    tells: {
      ...agentTells(/server[\s\S]*expired/, /[Rr]enew/),
      "server log": { cause: /expired/ },
      "server doctor": { cause: /expired/, remedy: /[Rr]enew/ },
    },
  }),
  row({
    id: "tls-server-client-use",
    title: "server shows a certificate for clients",
    wrong: ({ pki }) => ({ server: { cert: pki.agent } }),
    tells: agentTells(/not for TLS servers/, /serverAuth/),
  }),
  row({
    id: "tls-server-missing-intermediate",
    title: "server's file has its certificate without the intermediate authority",
    wrong: async ({ pki }) => {
      const middle = await pki.make.authority("middle-ca", pki.ca);
      return {
        server: { cert: await pki.make.issue(middle, "server-of-middle", { use: "server", ips: ["127.0.0.1"] }) },
      };
    },
    tells: agentTells(/middle-ca/, /intermediate/),
  }),
  row({
    id: "tls-agent-dials-frontend",
    title: "agent dials the callers' frontend instead of the agents' port",
    wrong: () => ({ server: { frontend: "tcp" }, agent: { port: PORT.frontend } }),
    tells: agentTells(/frontend|not the agents' port/, /--proxy-server-port/),
  }),
  row({
    id: "tls-agent-dials-plain",
    title: "agent dials a port that speaks plain HTTP",
    wrong: () => ({ agent: { port: PORT.serverHealth } }),
    tells: agentTells(/plain|not TLS|no TLS/i, /--proxy-server-port/),
  }),
  row({
    id: "tls-server-not-yet-valid",
    title: "server's certificate is not valid yet",
    wrong: async ({ pki }) => ({
      server: {
        cert: await pki.make.issue(pki.ca, "server-early", { use: "server", ips: ["127.0.0.1"], fromMin: 120 }),
      },
    }),
    tells: {
      ...agentTells(/not valid (?:yet|before)/, /clock/),
      "server log": { cause: /not valid (?:yet|before)/ },
      "server doctor": { cause: /not valid (?:yet|before)/, remedy: /clock/ },
    },
  }),
  {
    id: "tls-agents-port-plain",
    group: "tls",
    title: "a balancer's health check speaks plain HTTP to the agents' port",
    isHarmless: true,
    tells: {
      "server log": { cause: /plain|not TLS|no TLS/i, remedy: /TLS/ },
      "server findings": { cause: /plain|not TLS|no TLS/i, remedy: /TLS/ },
      "server doctor": { cause: /plain|not TLS|no TLS/i, remedy: /TLS/ },
    },
    async play(stage, isWrong) {
      const server = await stage.server();
      await stage.agent();
      // From an address of its own, as a balancer's is: an agent that is accepted from the same one ends the warning.
      if (isWrong) await stage.get(PORT.agents, "/healthz", "--interface", "127.0.0.2");
      return { places: serverPlaces(stage, server), works: async () => (await stage.isAgentConnected()) === true };
    },
  },
];

playAll(rows);
