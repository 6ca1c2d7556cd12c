/** Callers, sidecars and admin clients whose TLS fails: named by whoever knows. */
import type { Files } from "./framework/certificates.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { command, serverPlaces } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";

const FRONTEND = `https://127.0.0.1:${PORT.frontend}`;

const curlFlags = ({ pki }: Stage, cert: Files | undefined, proxy = FRONTEND): string[] => [
  ...["-x", proxy, "--proxy-cacert", pki.ca.cert],
  ...(cert === undefined ? [] : ["--proxy-cert", cert.cert, "--proxy-key", cert.key]),
];

type CallerRow = Omit<Mistake, "group" | "play"> & {
  call(stage: Stage): Promise<readonly string[]> | readonly string[];
};

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

const serverTells = (cause: RegExp, remedy: RegExp) => ({
  "server log": { cause },
  "server findings": { cause, remedy },
  "server doctor": { cause, remedy },
});

const frontendOf = (
  { pki }: Stage,
  files: { ca?: string; cert?: Files | undefined; name?: string; port?: number; mode?: string } = {},
): string => {
  const { ca = pki.ca.cert, name, port = PORT.frontend, mode = "http-connect" } = files;
  const cert = "cert" in files ? files.cert : pki.caller;
  const servername = name === undefined ? "" : `,servername=${name}`;
  const own = cert === undefined ? "" : `,cert=${cert.cert},key=${cert.key}`;
  return `${mode}+tcp:127.0.0.1:${port}${servername},ca=${ca}${own}`;
};

type SidecarRow = Omit<Mistake, "group" | "play"> & { frontend(stage: Stage): Promise<string> | string };

const sidecar = ({ frontend, ...rest }: SidecarRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    await stage.server({ frontend: "tcp" });
    await stage.agent();
    await stage.target();
    const process = await stage.sidecar(isWrong ? await frontend(stage) : frontendOf(stage));
    return {
      places: {
        "sidecar log": () => process.log.text,
        "sidecar readyz": () => stage.get(PORT.sidecarHealth, "/readyz?verbose"),
        doctor: () => stage.doctor("--role", "sidecar"),
      },
      works: async () =>
        (await stage.get(PORT.sidecarHealth, "/readyz")).startsWith("200") &&
        (await stage.reachesTarget(["-x", `http://127.0.0.1:${PORT.sidecarHttp}`])),
    };
  },
});

const sidecarTells = (cause: RegExp, remedy: RegExp) => ({
  "sidecar log": { cause, remedy },
  "sidecar readyz": { cause, remedy },
  doctor: { cause, remedy },
});

type AdminRow = Omit<Mistake, "group" | "play"> & {
  readonly hasTls: boolean;
  ask(stage: Stage, isWrong: boolean): readonly string[];
};

/** `drawbridge top` at a server's admin port. */
const admin = ({ ask, hasTls, ...rest }: AdminRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    const { cert, key } = stage.pki.server;
    await stage.server({ flags: hasTls ? [`--admin-cert-file=${cert}`, `--admin-key-file=${key}`] : [] });
    return command(() => stage.drawbridge("top", "--once", "--token-file", stage.adminToken, ...ask(stage, isWrong)));
  },
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
  sidecar({
    id: "tls-sidecar-wrong-ca",
    title: "sidecar's CA is not the authority of the frontend's certificate",
    frontend: (stage) => frontendOf(stage, { ca: stage.pki.foreignCa.cert }),
    tells: sidecarTells(/cluster-ca/, /\bca=|--ca-cert-path|--server-cert/),
  }),
  sidecar({
    id: "tls-sidecar-expired",
    title: "sidecar's certificate has expired",
    frontend: async (stage) =>
      frontendOf(stage, {
        cert: await stage.pki.make.issue(stage.pki.ca, "sidecar-old", { fromMin: -600, untilMin: -37 }),
      }),
    tells: sidecarTells(/expired 3\d min/, /[Rr]enew|new certificate/),
  }),
  sidecar({
    id: "tls-sidecar-foreign-certificate",
    title: "sidecar's certificate is of another authority than the frontend asks for",
    frontend: async (stage) =>
      frontendOf(stage, { cert: await stage.pki.make.issue(stage.pki.foreignCa, "sidecar-of-others") }),
    tells: sidecarTells(/foreign-ca/, /--server-ca-cert|--tls-cert-path|\bcert=/),
  }),
  sidecar({
    id: "tls-sidecar-other-protocol",
    title: "sidecar speaks gRPC to a frontend for HTTP CONNECT",
    frontend: (stage) => frontendOf(stage, { mode: "grpc" }),
    tells: sidecarTells(/a frontend of another protocol/, /frontend of their protocol/),
  }),
  sidecar({
    id: "tls-sidecar-wrong-name",
    title: "sidecar expects another name than the frontend's certificate has",
    frontend: (stage) => frontendOf(stage, { name: "bridge.example.com" }),
    tells: sidecarTells(/bridge\.example\.com/, /servername|certificate/),
  }),
  sidecar({
    id: "tls-sidecar-dials-plain",
    title: "sidecar dials a port that speaks plain HTTP",
    frontend: (stage) => frontendOf(stage, { port: PORT.serverHealth }),
    tells: sidecarTells(/plain|not TLS|no TLS|does not speak TLS/i, /--frontend|port/),
  }),
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
];

playAll(rows);
