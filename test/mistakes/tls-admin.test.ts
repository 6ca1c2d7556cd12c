/** Admin clients whose TLS to an admin port fails: named by the command. */
import type { Files } from "./framework/certificates.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { command, endsAtOnce } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";

type AdminRow = Omit<Mistake, "group" | "play"> & {
  readonly hasTls: boolean;
  /** The admin port's; default: the server's. */
  cert?(stage: Stage): Promise<Files>;
  ask(stage: Stage, isWrong: boolean): readonly string[];
};

/** `drawbridge top` at a server's admin port. */
const admin = ({ ask, hasTls, cert: wrongCert, ...rest }: AdminRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    const { cert, key } = isWrong && wrongCert ? await wrongCert(stage) : stage.pki.server;
    await stage.server({ flags: hasTls ? [`--admin-cert-file=${cert}`, `--admin-key-file=${key}`] : [] });
    return command(() => stage.drawbridge("top", "--once", "--token-file", stage.adminToken, ...ask(stage, isWrong)));
  },
});

const adminOf = ({ pki }: Stage): readonly string[] => [
  ...["--admin", `https://127.0.0.1:${PORT.serverAdmin}`, "--ca-file", pki.ca.cert],
];

const rows: readonly Mistake[] = [
  admin({
    id: "tls-admin-wrong-ca",
    title: "admin client trusts another authority than the admin port's",
    hasTls: true,
    ask: ({ pki }, isWrong) => [
      ...["--admin", `https://127.0.0.1:${PORT.serverAdmin}`],
      ...["--ca-file", isWrong ? pki.foreignCa.cert : pki.ca.cert],
    ],
    tells: { output: { cause: /cluster-ca|foreign-ca|authority/, remedy: /--ca-file/ } },
  }),
  admin({
    id: "tls-admin-wrong-name",
    title: "admin port's certificate is not for the name that the admin client dials",
    hasTls: true,
    cert: ({ pki }) => pki.make.issue(pki.ca, "admin-elsewhere", { use: "server", dns: ["bridge.example.com"] }),
    ask: adminOf,
    tells: { output: { cause: /not for 127\.0\.0\.1.*bridge\.example\.com/, remedy: /Give --admin one of the names/ } },
  }),
  admin({
    id: "tls-admin-expired",
    title: "admin port's certificate has expired",
    hasTls: true,
    cert: ({ pki }) =>
      pki.make.issue(pki.ca, "admin-old", { use: "server", ips: ["127.0.0.1"], fromMin: -600, untilMin: -37 }),
    ask: adminOf,
    tells: { output: { cause: /expired 3\d min/, remedy: /[Rr]enew/ } },
  }),
  admin({
    id: "tls-admin-plain-to-tls",
    title: "admin client speaks plain HTTP to an admin port with TLS",
    hasTls: true,
    ask: ({ pki }, isWrong) => [
      ...["--admin", `${isWrong ? "http" : "https"}://127.0.0.1:${PORT.serverAdmin}`],
      ...(isWrong ? [] : ["--ca-file", pki.ca.cert]),
    ],
    tells: { output: { cause: /TLS/, remedy: /https/ } },
  }),
  admin({
    id: "tls-admin-tls-to-plain",
    title: "admin client speaks TLS to an admin port without",
    hasTls: false,
    ask: ({ pki }, isWrong) => [
      ...["--admin", `${isWrong ? "https" : "http"}://127.0.0.1:${PORT.serverAdmin}`],
      ...(isWrong ? ["--ca-file", pki.ca.cert] : []),
    ],
    tells: { output: { cause: /plain|without TLS|not speak TLS|no TLS/i, remedy: /http:\/\// } },
  }),
  admin({
    id: "tls-admin-not-yet-valid",
    title: "admin port's certificate is not valid yet",
    hasTls: true,
    cert: ({ pki }) => pki.make.issue(pki.ca, "admin-early", { use: "server", ips: ["127.0.0.1"], fromMin: 120 }),
    ask: adminOf,
    tells: { output: { cause: /not valid (?:yet|before)/, remedy: /clock/ } },
  }),
  admin({
    id: "tls-admin-client-use",
    title: "admin port shows a certificate for clients",
    hasTls: true,
    cert: ({ pki }) => pki.make.issue(pki.ca, "admin-client", { ips: ["127.0.0.1"] }),
    ask: adminOf,
    tells: { output: { cause: /not for TLS servers/, remedy: /serverAuth/ } },
  }),
  admin({
    id: "tls-admin-missing-intermediate",
    title: "admin port's file has its certificate without the intermediate authority",
    hasTls: true,
    cert: async ({ pki }) => {
      const middle = await pki.make.authority("middle-ca", pki.ca);
      return pki.make.issue(middle, "admin-of-middle", { use: "server", ips: ["127.0.0.1"] });
    },
    ask: adminOf,
    tells: { output: { cause: /middle-ca/, remedy: /intermediate/ } },
  }),
  admin({
    id: "tls-admin-no-ca",
    title: "admin client has no CA for an admin port of a cluster's own authority",
    hasTls: true,
    ask: (stage, isWrong) => (isWrong ? adminOf(stage).slice(0, 2) : adminOf(stage)),
    tells: { output: { cause: /cluster-ca/, remedy: /--ca-file/ } },
  }),
  admin({
    id: "tls-admin-agents-port",
    title: "admin client dials the agents' port",
    hasTls: true,
    ask: (stage, isWrong) =>
      adminOf(stage).map((word) => (isWrong ? word.replace(String(PORT.serverAdmin), String(PORT.agents)) : word)),
    tells: { output: { cause: /asks for a (?:client )?certificate|agents' port|not the admin/, remedy: /admin port/ } },
  }),
  {
    id: "tls-admin-key-of-another",
    group: "tls",
    title: "key of the admin port is of another certificate",
    tells: { output: { cause: /does not belong to the certificate/, remedy: /same issue/ } },
    play: (stage, isWrong) =>
      endsAtOnce(isWrong, (isDoomed) => {
        const { server, agent } = stage.pki;
        const key = isWrong ? agent.key : server.key;
        return stage.server({ isDoomed, flags: [`--admin-cert-file=${server.cert}`, `--admin-key-file=${key}`] });
      }),
  },
];

playAll(rows);
