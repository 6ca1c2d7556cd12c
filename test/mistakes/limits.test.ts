/** Clocks, limits and disks. */
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { ours } from "../support/processes/executables.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { agentPlaces, command, serverPlaces, tunnel } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";

const DAY_S = 24 * 3600;

/** The environment of a program whose clock is off. */
function shifted(stage: Stage, seconds: number): Record<string, string> {
  const library = stage.file("shifted-clock.so");
  const source = new URL("framework/shifted-clock.c", import.meta.url).pathname;
  execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  return { LD_PRELOAD: library, CLOCK_SHIFT: String(seconds) };
}

/** A disk of 64 KiB, mounted at a folder of the stage. */
function smallDisk(stage: Stage, isFull: boolean): string {
  const folder = stage.folder("disk");
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${isFull ? "64k" : "16m"}`, "tmpfs", folder]);
  stage.scope.defer(() => void execFileSync("umount", ["-l", folder]));
  if (isFull) execFileSync("sh", ["-c", `head -c 1000000 /dev/zero > ${folder}/filler 2>/dev/null || true`]);
  return folder;
}

const connected = (stage: Stage) => async () => (await stage.isAgentConnected()) === true;

const clock = (id: string, title: string, shiftS: number, cause: RegExp): Mistake => ({
  ...{ id, group: "limits", title },
  tells: { "agent log": { cause, remedy: /clock/ }, doctor: { cause, remedy: /clock/ } },
  async play(stage, isWrong) {
    await stage.server();
    const env = isWrong ? shifted(stage, shiftS) : {};
    const agent = await stage.agent({ env });
    const doctor = () => stage.runWith(env, ours("drawbridge"), "doctor", "--role", "agent");
    return {
      places: { "agent log": () => agent.log.text, doctor: async () => (await doctor()).text },
      works: connected(stage),
    };
  },
});

const life = (id: string, title: string, untilMin: number, who: "agent" | "server"): Mistake => ({
  ...{ id, group: "limits", title, isHarmless: true },
  tells:
    who === "agent"
      ? {
          "agent log": { cause: /expires|ends/, remedy: /[Rr]enew/ },
          doctor: { cause: /expires|ends/, remedy: /[Rr]enew/ },
        }
      : {
          "server log": { cause: /expires|ends/, remedy: /[Rr]enew/ },
          "server doctor": { cause: /expires|ends/, remedy: /[Rr]enew/ },
        },
  async play(stage, isWrong) {
    const { make, ca } = stage.pki;
    const short = { fromMin: -48 * 60, untilMin };
    const agentCert = isWrong && who === "agent" ? { cert: await make.issue(ca, "agent-short", short) } : {};
    const serverCert =
      isWrong && who === "server"
        ? { cert: await make.issue(ca, "server-short", { ...short, use: "server", ips: ["127.0.0.1"] }) }
        : {};
    const server = await stage.server(serverCert);
    const agent = await stage.agent(agentCert);
    return { places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) }, works: connected(stage) };
  },
});

const rows: readonly Mistake[] = [
  clock(
    "limits-clock-behind",
    "the agent's clock is forty days behind",
    -40 * DAY_S,
    /not valid (?:yet|before)|not yet valid|clock/,
  ),
  clock("limits-clock-ahead", "the agent's clock is forty days ahead", 40 * DAY_S, /expired|clock/),
  life("limits-agent-certificate-ends", "the agent's certificate ends within the hour", 45, "agent"),
  life("limits-server-certificate-ends", "the server's certificate ends within the hour", 45, "server"),
  {
    id: "limits-open-files",
    group: "limits",
    title: "the server may open only 128 files",
    isHarmless: true,
    tells: { "server doctor": { cause: /128 files/, remedy: /LimitNOFILE|ulimit -n/ } },
    async play(stage, isWrong) {
      const server = await stage.server({ through: isWrong ? ["prlimit", "--nofile=128"] : [] });
      await stage.agent();
      return { places: serverPlaces(stage, server), works: connected(stage) };
    },
  },
  {
    id: "limits-output-disk-full",
    group: "limits",
    title: "the disk is full to which a command's output goes",
    tells: { output: { cause: /no space left|ENOSPC/i, remedy: /[Mm]ake room|space/ } },
    async play(stage, isWrong) {
      await tunnel(stage);
      const admin = ["--admin", `http://127.0.0.1:${PORT.serverAdmin}`, "--token-file", stage.adminToken];
      const to = isWrong ? "/dev/full" : stage.file("top.json");
      const run = () =>
        stage.run("sh", "-c", `exec "$@" > ${to}`, "sh", ours("drawbridge"), "top", "--once", "-o", "json", ...admin);
      return command(run);
    },
  },
  {
    id: "limits-support-disk-full",
    group: "limits",
    title: "the disk of support's --out is full",
    tells: { output: { cause: /no space left|ENOSPC/i, remedy: /--out/ } },
    async play(stage, isWrong) {
      await tunnel(stage);
      const folder = smallDisk(stage, isWrong);
      const admin = ["--admin", `http://127.0.0.1:${PORT.serverAdmin}`, "--token-file", stage.adminToken];
      return command(() => stage.drawbridge("support", "--out", `${folder}/support.tar.gz`, ...admin));
    },
  },
  {
    id: "limits-dump-disk-full",
    group: "limits",
    title: "the disk of --dump-dir is full when a path fails",
    // The agent really does not answer.
    timesOut: true,
    tells: { "server log": { cause: /cannot be written into[^\n]*ENOSPC/, remedy: /--dump-dir/ } },
    async play(stage, isWrong) {
      const folder = smallDisk(stage, isWrong);
      const { server, agent } = await tunnel(stage, { server: { flags: [`--dump-dir=${folder}`] } });
      await stage.reachesTarget();
      agent.signal("SIGSTOP");
      try {
        await server.log.waitFor(/the last packets of the link that fails/, 30_000);
      } finally {
        agent.signal("SIGCONT");
      }
      return {
        places: { "server log": () => server.log.text },
        works: () => readdirSync(folder).some((name) => name.startsWith("drawbridge-flight-")),
      };
    },
  },
  {
    id: "limits-pki-disk-full",
    group: "limits",
    title: "the disk is full on which pki init writes",
    tells: { output: { cause: /no space left|ENOSPC/i, remedy: /space/ } },
    async play(stage, isWrong) {
      const folder = smallDisk(stage, isWrong);
      const args = ["pki", "init", "--profile", "bootstrap", "--ip", "127.0.0.1", "--replace"];
      return command(() => stage.drawbridge(...args, "--dir", `${folder}/pki`));
    },
  },
  {
    id: "limits-slow-target",
    group: "limits",
    title: "--backend-dial-timeout is shorter than the target takes",
    timesOut: true,
    tells: { trace: { cause: /timed out|i\/o timeout|timeout/i, remedy: /route|firewall|--backend-dial-timeout/i } },
    async play(stage, isWrong) {
      await tunnel(stage, { server: { flags: ["--backend-dial-timeout=1s"] } });
      // A neighbour that takes frames and never answers.
      if (isWrong) {
        await stage.netns.run(
          "sh",
          "-c",
          "ip link add hole type veth peer name hole2 && ip link set hole up && ip link set hole2 up && ip addr add 10.9.0.1/24 dev hole",
        );
        await stage.netns.run(
          "ip",
          "neighbour",
          "add",
          "10.9.0.2",
          "lladdr",
          "02:00:00:00:00:02",
          "dev",
          "hole",
          "nud",
          "permanent",
        );
      }
      const target = isWrong ? "10.9.0.2:443" : `127.0.0.1:${PORT.target}`;
      const run = () =>
        stage.drawbridge(
          ...["trace", target, "--frontend", `http-connect+uds:${stage.socket}`, "--token-file", stage.adminToken],
          ...["--admin", `http://127.0.0.1:${PORT.serverAdmin}`],
        );
      return { places: { trace: async () => (await run()).text }, works: async () => (await run()).code === 0 };
    },
  },
];

playAll(rows);
