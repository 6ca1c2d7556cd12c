/** A sidecar whose TLS to its frontend fails: named by the sidecar, and by doctor beside it. */
import { ours } from "../support/processes/executables.js";
import type { Files } from "./framework/certificates.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { endsAtOnce } from "./framework/scenes.js";
import { PORT, type ServerStart, type Stage } from "./framework/stage.js";

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

type SidecarRow = Omit<Mistake, "group" | "play"> & {
  frontend?(stage: Stage): Promise<string> | string;
  server?(stage: Stage): Promise<ServerStart>;
};

const sidecar = ({ frontend = frontendOf, server, ...rest }: SidecarRow): Mistake => ({
  ...rest,
  group: "tls",
  async play(stage, isWrong) {
    await stage.server({ frontend: "tcp", ...(isWrong && (await server?.(stage))) });
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

/** Of a cluster that is asked for names only. */
const IN_A_POD = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: "1" };

type HyperShift = Pick<Mistake, "id" | "title"> & {
  readonly program: "konnectivity-socks5-proxy" | "konnectivity-https-proxy";
};

/** HyperShift's proxies as it deploys them: without a health port, so that the log and the client are all there is. */
const hypershift = ({ program, ...rest }: HyperShift): Mistake => ({
  ...{ ...rest, group: "tls" },
  tells: {
    "proxy log": { cause: /127\.0\.0\.1:7091 is not the port[\s\S]*agents' port/, remedy: /--konnectivity-port/ },
  },
  async play(stage, isWrong) {
    const { ca, caller } = stage.pki;
    const server = await stage.server({ frontend: "tcp" });
    await stage.agent();
    await stage.target();
    const process = stage.start(
      program,
      [
        ...[ours(program), "run", "--konnectivity-hostname=127.0.0.1", `--serving-port=${PORT.sidecarHttp}`],
        ...[`--konnectivity-port=${isWrong ? PORT.agents : PORT.frontend}`, `--ca-cert-path=${ca.cert}`],
        ...[`--tls-cert-path=${caller.cert}`, `--tls-key-path=${caller.key}`],
        ...(program === "konnectivity-socks5-proxy" ? ["--disable-resolver"] : []),
      ],
      IN_A_POD,
    );
    await process.log.waitFor(/sidecar is up/, 10_000);
    const scheme = program === "konnectivity-socks5-proxy" ? "socks5h" : "http";
    const proxy = ["-x", `${scheme}://127.0.0.1:${PORT.sidecarHttp}`];
    return {
      places: {
        client: async () => (await stage.call(proxy)).text,
        "proxy log": () => process.log.text,
        "server log": () => server.log.text,
        doctor: () => stage.doctor("--role", "sidecar"),
      },
      works: () => stage.reachesTarget(proxy),
    };
  },
});

const rows: readonly Mistake[] = [
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
    tells: sidecarTells(/a frontend of another protocol/, /in the protocol of its --mode/),
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
  sidecar({
    id: "tls-sidecar-not-yet-valid",
    title: "sidecar's certificate is not valid yet",
    frontend: async (stage) =>
      frontendOf(stage, { cert: await stage.pki.make.issue(stage.pki.ca, "sidecar-early", { fromMin: 120 }) }),
    tells: sidecarTells(/not valid (?:yet|before)/, /clock/),
  }),
  sidecar({
    id: "tls-sidecar-server-use",
    title: "sidecar shows a certificate for servers",
    frontend: (stage) => frontendOf(stage, { cert: stage.pki.server }),
    tells: sidecarTells(/not for TLS clients/, /clientAuth/),
  }),
  sidecar({
    id: "tls-sidecar-missing-intermediate",
    title: "sidecar's file has its certificate without the intermediate authority",
    frontend: async (stage) => {
      const middle = await stage.pki.make.authority("middle-ca", stage.pki.ca);
      return frontendOf(stage, { cert: await stage.pki.make.issue(middle, "sidecar-of-middle") });
    },
    tells: sidecarTells(/middle-ca/, /intermediate/),
  }),
  {
    id: "tls-sidecar-no-certificate",
    group: "tls",
    title: "sidecar is given no certificate for a frontend that asks for one",
    tells: {
      output: {
        cause: /tls\.crt cannot be used: it does not exist/,
        remedy: /mount its Secret.*the flag that names it/,
      },
    },
    play: (stage, isWrong) =>
      endsAtOnce(isWrong, (isDoomed) =>
        stage.sidecar(isWrong ? frontendOf(stage, { cert: undefined }) : frontendOf(stage), { isDoomed }),
      ),
  },
  sidecar({
    id: "tls-sidecar-frontend-expired",
    title: "certificate of the sidecar's frontend has expired",
    server: async ({ pki }) => ({
      frontendCert: await pki.make.issue(pki.ca, "frontend-old", {
        ...{ use: "server", ips: ["127.0.0.1"], fromMin: -600, untilMin: -37 },
      }),
    }),
    tells: sidecarTells(/expired 3\d min/, /[Rr]enew/),
  }),
  sidecar({
    id: "tls-sidecar-frontend-client-use",
    title: "sidecar's frontend shows a certificate for clients",
    server: async ({ pki }) => ({
      frontendCert: await pki.make.issue(pki.ca, "frontend-client", { ips: ["127.0.0.1"] }),
    }),
    tells: sidecarTells(/not for TLS servers/, /serverAuth/),
  }),
  sidecar({
    id: "tls-sidecar-agents-port",
    title: "sidecar dials the agents' port instead of the frontend",
    frontend: (stage) => frontendOf(stage, { port: PORT.agents }),
    tells: sidecarTells(/127\.0\.0\.1:7091 is not the port[\s\S]*agents' port/, /--frontend|--server-port/),
  }),
  sidecar({
    id: "tls-sidecar-agents-port-grpc",
    title: "sidecar dials the agents' port by gRPC instead of the frontend",
    server: async () => ({ mode: "grpc" }),
    frontend: (stage) => frontendOf(stage, { port: PORT.agents, mode: "grpc" }),
    tells: sidecarTells(/127\.0\.0\.1:7091 is not the port[\s\S]*agents' port/, /--frontend|--server-port/),
  }),
  hypershift({
    id: "tls-socks5-proxy-agents-port",
    title: "--konnectivity-port of konnectivity-socks5-proxy is the agents' port",
    program: "konnectivity-socks5-proxy",
  }),
  hypershift({
    id: "tls-https-proxy-agents-port",
    title: "--konnectivity-port of konnectivity-https-proxy is the agents' port",
    program: "konnectivity-https-proxy",
  }),
  {
    id: "tls-sidecar-key-of-another",
    group: "tls",
    title: "sidecar's key is of another certificate",
    tells: { output: { cause: /does not belong to the certificate/, remedy: /same issue/ } },
    play: (stage, isWrong) =>
      endsAtOnce(isWrong, (isDoomed) => {
        const { caller, agent } = stage.pki;
        const cert = isWrong ? { cert: caller.cert, key: agent.key } : caller;
        return stage.sidecar(frontendOf(stage, { cert }), { isDoomed });
      }),
  },
];

playAll(rows);
