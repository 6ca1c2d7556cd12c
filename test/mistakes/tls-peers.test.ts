/** TLS mistakes between our programs and upstream's, and files that are replaced wrongly while processes run. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { theirs } from "../support/processes/executables.js";
import type { RunningProcess } from "../support/processes/process.js";
import { Certificates, type Files } from "./framework/certificates.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { agentPlaces, serverPlaces } from "./framework/scenes.js";
import { type AgentStart, PORT, type Stage } from "./framework/stage.js";

type PeerRow<T> = Omit<Mistake, "group" | "play" | "needs"> & { wrong(stage: Stage): Promise<T> | T };

interface GoAgent {
  readonly ca?: string;
  readonly cert?: Files;
}

/** Upstream's agent at our server. */
const goAgent = ({ wrong, ...rest }: PeerRow<GoAgent>): Mistake => ({
  ...rest,
  group: "tls",
  needs: { upstream: true },
  // Upstream's agent waits longer and longer between two attempts, unless it is led to believe that one went well.
  untrue: [/refused by the listener agents \d{3,} times/],
  async play(stage, isWrong) {
    const { ca = stage.pki.ca.cert, cert = stage.pki.agent } = isWrong ? await wrong(stage) : {};
    const server = await stage.server();
    const agent = stage.start("upstream's agent", [
      ...[theirs("proxy-agent"), "--proxy-server-host=127.0.0.1", `--proxy-server-port=${PORT.agents}`],
      ...[`--ca-cert=${ca}`, `--agent-cert=${cert.cert}`, `--agent-key=${cert.key}`, "--agent-id=node-1"],
      ...[`--health-server-port=${PORT.agentHealth}`, `--admin-server-port=${PORT.agentAdmin}`],
      ...["--sync-interval=200ms", "--sync-interval-cap=500ms", "--probe-interval=200ms"],
    ]);
    return {
      places: { "upstream's agent's log": () => agent.log.text, ...serverPlaces(stage, server) },
      works: async () => (await stage.get(PORT.serverHealth, "/readyz")).startsWith("200"),
    };
  },
});

/** The places to look at, where an agent does not say what it was told. */
const serverTells = (cause: RegExp, remedy: RegExp) => ({
  "server log": { cause, remedy },
  "server findings": { cause, remedy },
  "server doctor": { cause, remedy },
});

/** Our agent at upstream's server. */
const goServer = ({ wrong, ...rest }: PeerRow<AgentStart>): Mistake => ({
  ...rest,
  group: "tls",
  needs: { upstream: true },
  async play(stage, isWrong) {
    const { ca, server } = stage.pki;
    stage.start("upstream's server", [
      ...[theirs("proxy-server"), "--mode=http-connect", "--server-port=0", `--uds-name=${stage.socket}`],
      ...["--delete-existing-uds-file", `--agent-port=${PORT.agents}`, `--cluster-cert=${server.cert}`],
      ...[`--cluster-key=${server.key}`, `--cluster-ca-cert=${ca.cert}`],
      ...[`--health-port=${PORT.serverHealth}`, `--admin-port=${PORT.serverAdmin}`],
    ]);
    const agent = await stage.agent(isWrong ? await wrong(stage) : {});
    return { places: agentPlaces(stage, agent), works: async () => (await stage.isAgentConnected()) === true };
  },
});

const agentTells = (cause: RegExp, remedy: RegExp) => ({
  "agent log": { cause, remedy },
  "agent readyz": { cause },
  "agent findings": { cause },
  doctor: { cause, remedy },
});

/** The key file gets the key of another certificate, as by half a renewal; taken back by the right key. */
async function withWrongKey(stage: Stage, files: Files): Promise<() => void> {
  const right = readFileSync(files.key);
  const other = await stage.pki.make.issue(stage.pki.ca, "other");
  copyFileSync(other.key, files.key);
  return () => writeFileSync(files.key, right);
}

/** The same files again, by a new authority with the old one's name. */
async function newIssue(stage: Stage) {
  const make = new Certificates(stage.folder("new"));
  const ca = await make.authority("cluster-ca");
  const server = await make.issue(ca, "server", { use: "server", dns: ["localhost"], ips: ["127.0.0.1"] });
  return { ca, server, agent: await make.issue(ca, "agent") };
}

type RotatedRow = Pick<Mistake, "id" | "title"> & {
  readonly cause: RegExp;
  readonly remedy: RegExp;
  readonly side: "server" | "agent";
};

/** One side has the files of the new issue, the other still those of the old one. */
const rotated = ({ cause, remedy, side, ...rest }: RotatedRow): Mistake => ({
  ...{ ...rest, group: "tls" },
  // Neither side has the other's authority, so the server refuses as well.
  tells: { ...agentTells(cause, remedy), ...serverTells(/signed by another key than that/, /--cluster-ca-cert/) },
  async play(stage, isWrong) {
    const files = await newIssue(stage);
    const isNew = (which: "server" | "agent") => !isWrong || which === side;
    const server = await stage.server(isNew("server") ? { ca: files.ca.cert, cert: files.server } : {});
    const agent = await stage.agent(isNew("agent") ? { ca: files.ca.cert, cert: files.agent } : {});
    return {
      places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) },
      works: async () => (await stage.isAgentConnected()) === true,
    };
  },
});

const rows: readonly Mistake[] = [
  goAgent({
    id: "tls-upstream-agent-foreign-certificate",
    title: "upstream's agent shows a certificate of another authority",
    wrong: async ({ pki }) => ({ cert: await pki.make.issue(pki.foreignCa, "agent-of-others") }),
    // A Go client does not send a certificate that the server's list of authorities does not fit.
    tells: serverTells(
      /keeps back one that is not of .{1,2}CN=cluster-ca/,
      /a certificate and key of this listener's CA/,
    ),
  }),
  goAgent({
    id: "tls-upstream-agent-expired",
    title: "upstream's agent shows an expired certificate",
    wrong: async ({ pki }) => ({
      cert: await pki.make.issue(pki.ca, "agent-old", { fromMin: -600, untilMin: -37 }),
    }),
    tells: serverTells(/its certificate expired on 2\d{3}-/, /[Rr]enew/),
  }),
  goServer({
    id: "tls-upstream-server-foreign-agent",
    title: "our agent shows upstream's server a certificate of another authority",
    wrong: async ({ pki }) => ({ cert: await pki.make.issue(pki.foreignCa, "agent-of-others") }),
    tells: agentTells(/foreign-ca/, /--cluster-ca-cert|--agent-cert/),
  }),
  goServer({
    id: "tls-upstream-server-no-certificate",
    title: "our agent shows upstream's server no certificate",
    wrong: () => ({ cert: undefined }),
    tells: agentTells(/given none/, /--agent-cert/),
  }),
  {
    id: "tls-server-key-of-another",
    group: "tls",
    title: "server's key file is replaced by the key of another certificate while it runs",
    isHarmless: true,
    withinMs: 20_000,
    tells: {
      "server log": {
        cause: /server\.key[\s\S]*does not belong to the certificate/,
        remedy: /replace both files together/,
      },
    },
    async play(stage, isWrong) {
      const server = await stage.server();
      await stage.agent();
      const heal = isWrong ? await withWrongKey(stage, stage.pki.server) : undefined;
      return {
        places: serverPlaces(stage, server),
        works: async () => (await stage.isAgentConnected()) === true,
        ...(heal && { heal }),
      };
    },
  },
  {
    id: "tls-agent-key-of-another",
    group: "tls",
    title: "agent's key file is replaced by the key of another certificate, and the server starts again",
    tells: agentTells(/agent\.key[\s\S]*does not belong to the certificate/, /replace both files together/),
    async play(stage, isWrong) {
      const server: RunningProcess = await stage.server();
      const agent = await stage.agent();
      const heal = isWrong ? await withWrongKey(stage, stage.pki.agent) : undefined;
      if (isWrong) {
        await server.close();
        await stage.server();
      }
      return {
        places: agentPlaces(stage, agent),
        works: async () => (await stage.isAgentConnected()) === true,
        ...(heal && { heal }),
      };
    },
  },
  rotated({
    id: "tls-rotated-server-only",
    title: "the authority was replaced for the server alone",
    cause: /has its issuer's name and another key, so the files come from different issues/,
    remedy: /--ca-cert/,
    side: "server",
  }),
  rotated({
    id: "tls-rotated-agents-only",
    title: "the authority was replaced for the agents alone",
    cause: /has its issuer's name and another key, so the files come from different issues/,
    remedy: /--ca-cert/,
    side: "agent",
  }),
  {
    id: "tls-rotated-agents-ca",
    group: "tls",
    title: "the agents' --ca-cert was replaced by the new authority, and nothing else",
    tells: {
      ...agentTells(/has its issuer's name and another key/, /--ca-cert/),
      ...serverTells(
        /hung up right after TLS without a word, as clients do that do not trust this server's certificate/,
        /give it the CA that issued it/,
      ),
    },
    async play(stage, isWrong) {
      const { ca } = await newIssue(stage);
      const server = await stage.server();
      const agent = await stage.agent(isWrong ? { ca: ca.cert } : {});
      return {
        places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
  {
    id: "tls-rotated-agent-certificate",
    group: "tls",
    title: "the server's --cluster-ca-cert was replaced, and the agents' certificates are of the old authority",
    tells: {
      ...agentTells(/CN=cluster-ca/, /--cluster-ca-cert|--agent-cert/),
      "server log": { cause: /another key/ },
      "server doctor": { cause: /another key/, remedy: /--cluster-ca-cert/ },
    },
    async play(stage, isWrong) {
      const { ca } = await newIssue(stage);
      const server = await stage.server(isWrong ? { ca: ca.cert } : {});
      const agent = await stage.agent();
      return {
        places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
];

playAll(rows);
