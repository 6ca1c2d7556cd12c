/** Callers whose TLS to a frontend fails: named by the server, the only one of ours that sees it. */
import type { Files } from "./framework/certificates.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { command, serverPlaces } from "./framework/scenes.js";
import { PORT, type ServerStart, type Stage } from "./framework/stage.js";

const FRONTEND = `https://127.0.0.1:${PORT.frontend}`;

const curlFlags = ({ pki }: Stage, cert: Files | undefined, proxy = FRONTEND): string[] => [
  ...["-x", proxy, "--proxy-cacert", pki.ca.cert],
  ...(cert === undefined ? [] : ["--proxy-cert", cert.cert, "--proxy-key", cert.key]),
];

type CallerRow = Omit<Mistake, "group" | "play"> & {
  call(stage: Stage): Promise<readonly string[]> | readonly string[];
};

/** What `frontend` of a row changes. */
interface Wrong {
  readonly ca?: string;
  readonly name?: string;
  readonly mode?: string;
  readonly server?: ServerStart;
}

type TraceRow = Omit<Mistake, "group" | "play"> & { wrong(stage: Stage): Promise<Wrong> | Wrong };

/** curl in the kube-apiserver's place, at a TCP frontend with TLS. */
const caller = ({ call, ...rest }: CallerRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    const server = await stage.server({ frontend: "tcp" });
    await stage.agent();
    await stage.target();
    const flags = isWrong ? await call(stage) : curlFlags(stage, stage.pki.caller);
    await stage.call(flags);
    return { places: serverPlaces(stage, server), works: () => stage.reachesTarget(flags) };
  },
});

/** `drawbridge trace` in the kube-apiserver's place: a caller that says what it finds wrong with the frontend. */
const traced = ({ wrong, ...rest }: TraceRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    const { ca, caller } = stage.pki;
    const { server: options, name, mode = "http-connect", ca: caFile = ca.cert } = isWrong ? await wrong(stage) : {};
    const server = await stage.server({ frontend: "tcp", ...options });
    await stage.agent();
    const target = await stage.target();
    const place = `${mode}+tcp:127.0.0.1:${PORT.frontend}${name === undefined ? "" : `,servername=${name}`}`;
    const frontend = `${place},ca=${caFile},cert=${caller.cert},key=${caller.key}`;
    const admin = ["--admin", `http://127.0.0.1:${PORT.serverAdmin}`, "--token-file", stage.adminToken];
    return command(
      () => stage.drawbridge("trace", target, "--frontend", frontend, ...admin),
      serverPlaces(stage, server),
    );
  },
});

const serverTells = (cause: RegExp, remedy: RegExp) => ({
  "server log": { cause },
  "server findings": { cause, remedy },
  "server doctor": { cause, remedy },
});

const rows: readonly Mistake[] = [
  caller({
    id: "tls-caller-no-certificate",
    title: "caller shows no certificate to a frontend that asks for one",
    call: (stage) => curlFlags(stage, undefined),
    tells: serverTells(/(?:no|without a) (?:client )?certificate/, /certificate/),
  }),
  caller({
    id: "tls-caller-foreign-certificate",
    title: "caller's certificate is of another authority than --server-ca-cert",
    call: async (stage) => curlFlags(stage, await stage.pki.make.issue(stage.pki.foreignCa, "caller-of-others")),
    tells: serverTells(
      /CN=caller-of-others[\s\S]{0,400}foreign-ca|foreign-ca[\s\S]{0,400}CN=caller-of-others/,
      /--server-ca-cert/,
    ),
  }),
  caller({
    id: "tls-caller-expired",
    title: "caller's certificate has expired",
    call: async (stage) =>
      curlFlags(stage, await stage.pki.make.issue(stage.pki.ca, "caller-old", { fromMin: -600, untilMin: -37 })),
    tells: serverTells(/expired/, /[Rr]enew|new certificate/),
  }),
  caller({
    id: "tls-caller-server-use",
    title: "caller shows a certificate for servers",
    call: (stage) => curlFlags(stage, stage.pki.server),
    tells: serverTells(/not for TLS clients/, /clientAuth/),
  }),
  caller({
    id: "tls-caller-plain",
    title: "caller speaks plain HTTP to a frontend with TLS",
    call: () => ["-x", `http://127.0.0.1:${PORT.frontend}`],
    tells: serverTells(/plain|not TLS|no TLS/i, /TLS|https/),
  }),
  caller({
    id: "tls-caller-not-yet-valid",
    title: "caller's certificate is not valid yet",
    call: async (stage) => curlFlags(stage, await stage.pki.make.issue(stage.pki.ca, "caller-early", { fromMin: 120 })),
    tells: serverTells(/CN=caller-early[\s\S]*not valid (?:yet|before)|not valid (?:yet|before)/, /clock/),
  }),
  caller({
    id: "tls-caller-missing-intermediate",
    title: "caller's file has its certificate without the intermediate authority",
    call: async (stage) => {
      const middle = await stage.pki.make.authority("middle-ca", stage.pki.ca);
      return curlFlags(stage, await stage.pki.make.issue(middle, "caller-of-middle"));
    },
    tells: serverTells(/middle-ca/, /intermediate/),
  }),
  caller({
    id: "tls-caller-distrusts",
    title: "caller does not trust the authority of the frontend's certificate",
    call: (stage) => [
      ...["-x", FRONTEND, "--proxy-cacert", stage.pki.foreignCa.cert],
      ...["--proxy-cert", stage.pki.caller.cert, "--proxy-key", stage.pki.caller.key],
    ],
    tells: serverTells(/does not trust|rejected (?:this|the) server's certificate|unknown ca/i, /--server-cert/),
  }),
  traced({
    id: "tls-caller-wrong-ca",
    title: "trace's CA is not the authority of the frontend's certificate",
    wrong: ({ pki }) => ({ ca: pki.foreignCa.cert }),
    tells: { output: { cause: /cluster-ca/, remedy: /\bca=/ } },
  }),
  traced({
    id: "tls-caller-wrong-name",
    title: "trace expects another name than the frontend's certificate has",
    wrong: () => ({ name: "bridge.example.com" }),
    tells: { output: { cause: /not for bridge\.example\.com/, remedy: /servername/ } },
  }),
  traced({
    id: "tls-caller-frontend-expired",
    title: "frontend's certificate has expired",
    wrong: async ({ pki }) => ({
      server: {
        frontendCert: await pki.make.issue(pki.ca, "frontend-old", {
          ...{ use: "server", ips: ["127.0.0.1"], fromMin: -600, untilMin: -37 },
        }),
      },
    }),
    tells: {
      output: { cause: /expired 3\d min/, remedy: /[Rr]enew/ },
      "server log": { cause: /frontend-old\.crt expired/, remedy: /[Rr]enew/ },
      "server doctor": { cause: /frontend-old\.crt\) expired/, remedy: /[Rr]enew/ },
    },
  }),
  traced({
    id: "tls-caller-other-protocol",
    title: "caller speaks gRPC over TLS to a frontend for HTTP CONNECT",
    wrong: () => ({ mode: "grpc" }),
    tells: {
      output: {
        cause: /a frontend of another protocol/,
        remedy: /callers --server-port of the server, in the protocol of its --mode/,
      },
      ...serverTells(
        /by ALPN it offered other protocols than http\/1\.1 \(HTTP CONNECT\)/,
        /frontend of their own protocol/,
      ),
    },
  }),
];

playAll(rows);
