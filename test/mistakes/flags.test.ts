/** Flags and the files that they name. */
import { execFileSync } from "node:child_process";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { endsAtOnce } from "./framework/scenes.js";
import { PORT, type ServerStart, type Stage } from "./framework/stage.js";

type FlagRow = Omit<Mistake, "group" | "play"> & { wrong(stage: Stage): ServerStart };

/** A server that does not start. */
const server = ({ wrong, ...rest }: FlagRow): Mistake => ({
  ...rest,
  group: "flags",
  play: (stage, isWrong) =>
    endsAtOnce(isWrong, (isDoomed) => stage.server({ ...(isWrong ? wrong(stage) : {}), isDoomed })),
});

const rows: readonly Mistake[] = [
  server({
    id: "flags-unknown",
    title: "a flag is misspelt",
    wrong: () => ({ flags: ["--proxy-strategy=default"] }),
    tells: { output: { cause: /unknown flag: --proxy-strategy/, remedy: /--help/ } },
    // It quotes what was typed.
    quotes: ["--proxy-strategy"],
  }),
  server({
    id: "flags-strategy",
    title: "a strategy is misspelt",
    wrong: () => ({ flags: ["--proxy-strategies=destHots"] }),
    tells: { output: { cause: /unknown proxy strategy: destHots/, remedy: /--help|destHost/ } },
  }),
  server({
    id: "flags-duration-without-unit",
    title: "a duration has no unit",
    wrong: () => ({ flags: ["--backend-dial-timeout=15"] }),
    tells: { output: { cause: /--backend-dial-timeout[\s\S]*missing unit in duration/, remedy: /--help|15s/ } },
  }),
  server({
    id: "flags-no-agent-authentication",
    title: "the server is told of no way to recognise agents",
    wrong: () => ({ ca: "" }),
    tells: { output: { cause: /anyone could become an agent/, remedy: /--cluster-ca-cert/ } },
  }),
  server({
    id: "flags-key-of-another",
    title: "a private key belongs to another certificate",
    wrong: ({ pki }) => ({ cert: { cert: pki.server.cert, key: pki.agent.key } }),
    tells: {
      output: {
        cause: /agent\.key[\s\S]*does not belong to the certificate in[\s\S]*server\.crt/,
        remedy: /same issue/,
      },
    },
  }),
  server({
    id: "flags-certificate-missing",
    title: "a certificate file does not exist",
    wrong: (stage) => ({ cert: { cert: stage.file("nope.crt"), key: stage.pki.server.key } }),
    tells: { output: { cause: /nope\.crt[\s\S]*no such file/, remedy: /[Cc]orrect|[Cc]reate/ } },
  }),
  server({
    id: "flags-certificate-der",
    title: "a certificate file is DER, not PEM",
    wrong: (stage) => {
      const der = stage.file("server.der");
      execFileSync("openssl", ["x509", "-in", stage.pki.server.cert, "-outform", "der", "-out", der]);
      return { cert: { cert: der, key: stage.pki.server.key } };
    },
    tells: { output: { cause: /server\.der[\s\S]*not PEM/, remedy: /openssl x509 -inform der/ } },
  }),
  server({
    id: "flags-socket-directory-missing",
    title: "the directory of --uds-name does not exist",
    wrong: (stage) => ({ flags: [`--uds-name=${stage.file("run/frontend.sock")}`] }),
    tells: { output: { cause: /run\/frontend\.sock: its directory does not exist/, remedy: /directory/ } },
  }),
  server({
    id: "flags-socket-path-too-long",
    title: "the path of --uds-name is longer than the kernel takes",
    wrong: (stage) => ({ flags: [`--uds-name=${stage.file("x".repeat(120))}`] }),
    tells: { output: { cause: /longer than the kernel takes/, remedy: /at most 107 bytes/ } },
  }),
  {
    id: "flags-identifier-no-address",
    group: "flags",
    title: "--agent-identifiers has an ipv4 that is no address",
    isHarmless: true,
    tells: { "agent log": { cause: /ipv4[^\n]*foo[^\n]*(?:not|no) [^\n]*address/, remedy: /--agent-identifiers/ } },
    async play(stage, isWrong) {
      await stage.server();
      const agent = await stage.agent({ flags: [`--agent-identifiers=ipv4=${isWrong ? "foo" : "127.0.0.1"}`] });
      return {
        places: {
          "agent log": () => agent.log.text,
          "agent readyz": () => stage.get(PORT.agentHealth, "/readyz?verbose"),
        },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
  {
    id: "flags-server-count-zero",
    group: "flags",
    title: "--server-count is 0",
    isHarmless: true,
    tells: { "server log": { cause: /--server-count(?:=| is )0/, remedy: /--server-count/ } },
    async play(stage, isWrong) {
      const process = await stage.server({ flags: [`--server-count=${isWrong ? 0 : 1}`] });
      await stage.agent();
      return {
        places: { "server log": () => process.log.text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
];

playAll(rows);
