/** Names, ports and routes. */
import { writeFileSync } from "node:fs";
import { ours } from "../support/processes/executables.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { agentPlaces, command, endsAtOnce, serverPlaces, trace, tunnel } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";

/** A program with a resolv.conf and a hosts file of its own. */
function withNames(stage: Stage, resolv: string, hosts: string): string[] {
  writeFileSync(stage.file("resolv.conf"), resolv);
  writeFileSync(stage.file("hosts"), `127.0.0.1 localhost\n${hosts}`);
  const mount = `mount --bind ${stage.file("resolv.conf")} /etc/resolv.conf && mount --bind ${stage.file("hosts")} /etc/hosts`;
  return ["unshare", "--mount", "sh", "-c", `${mount} && exec "$@"`, "sh"];
}

/** A DNS server that knows no name at all. */
async function startEmptyDns(stage: Stage): Promise<void> {
  const code = `
    const server = require("node:dgram").createSocket("udp4");
    server.on("message", (question, { port, address }) => {
      const answer = Buffer.from(question);
      answer.writeUInt16BE(0x8183, 2);
      server.send(answer, port, address);
    });
    server.bind(53, "127.0.0.1", () => console.log("answers"));`;
  await stage.start("dns", [process.execPath, "-e", code]).log.waitFor(/answers/, 10_000);
}

const AGENT_NAME = "bridge.example.test";

const reach = (stage: Stage) => async () => await stage.reachesTarget();

const rows: readonly Mistake[] = [
  {
    id: "names-server-unknown",
    group: "names",
    title: "the name in --proxy-server-host does not exist",
    tells: {
      "agent log": {
        cause: /bridge\.example\.test[\s\S]{0,200}no such host|no such host[\s\S]{0,200}bridge\.example\.test/,
      },
      "agent doctor": { cause: /bridge\.example\.test/, remedy: /resolv|DNS/ },
    },
    async play(stage, isWrong) {
      await stage.server();
      await startEmptyDns(stage);
      const through = withNames(stage, "nameserver 127.0.0.1\n", isWrong ? "" : `127.0.0.1 ${AGENT_NAME}\n`);
      const host = isWrong ? AGENT_NAME : "localhost";
      const agent = await stage.agent({ host, through });
      const doctor = () => stage.run(...through, ours("drawbridge"), "doctor", "--role", "agent");
      return {
        places: { "agent log": () => agent.log.text, "agent doctor": async () => (await doctor()).text },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
  {
    id: "names-server-port-closed",
    group: "names",
    title: "agent dials a port where nothing listens",
    tells: {
      "agent log": {
        cause: /127\.0\.0\.1:7444[\s\S]{0,200}refused/,
        remedy: /[Ss]tart the server, or correct the address and port/,
      },
      doctor: { cause: /127\.0\.0\.1:7444/, remedy: /[Ss]tart the server, or correct the address and port/ },
    },
    async play(stage, isWrong) {
      await stage.server();
      const agent = await stage.agent(isWrong ? { port: PORT.closed } : {});
      return { places: agentPlaces(stage, agent), works: async () => (await stage.isAgentConnected()) === true };
    },
  },
  {
    id: "names-target-closed",
    group: "names",
    title: "nothing listens at the target",
    tells: {
      trace: { cause: /127\.0\.0\.1:7443[\s\S]*connection refused/, remedy: /listen/ },
      "server log": { cause: /connection refused/ },
    },
    async play(stage, isWrong) {
      const server = await stage.server();
      await stage.agent();
      if (!isWrong) await stage.target();
      return {
        places: {
          trace: async () => (await trace(stage, `127.0.0.1:${PORT.target}`)).text,
          "server log": () => server.log.text,
        },
        works: reach(stage),
      };
    },
  },
  {
    id: "names-target-unknown",
    group: "names",
    title: "the agent's DNS does not know the target's name",
    tells: { trace: { cause: /lookup webhook\.example\.test[\s\S]*no such host/, remedy: /DNS|name/ } },
    async play(stage, isWrong) {
      await startEmptyDns(stage);
      const through = withNames(stage, "nameserver 127.0.0.1\n", isWrong ? "" : "127.0.0.1 webhook.example.test\n");
      await tunnel(stage, { agent: { through } });
      const ask = () => trace(stage, `webhook.example.test:${PORT.target}`);
      return { places: { trace: async () => (await ask()).text }, works: async () => (await ask()).code === 0 };
    },
  },
  {
    id: "names-no-agent-claims",
    group: "names",
    title: "--proxy-strategies=destHost, and no agent claims the destination",
    tells: {
      trace: { cause: /destHost/, remedy: /--agent-identifiers|--proxy-strategies/ },
      explain: { cause: /destHost: 0 known/, remedy: /--agent-identifiers|--proxy-strategies/ },
      "server readyz": { cause: /destHost|no connection to any proxy agent/ },
    },
    async play(stage, isWrong) {
      await tunnel(stage, { server: { flags: [`--proxy-strategies=${isWrong ? "destHost" : "default"}`] } });
      const target = `127.0.0.1:${PORT.target}`;
      const admin = ["--admin", `http://127.0.0.1:${PORT.serverAdmin}`, "--token-file", stage.adminToken];
      return {
        places: {
          trace: async () => (await trace(stage, target)).text,
          explain: async () => (await stage.drawbridge("explain", target, ...admin)).text,
          "server readyz": () => stage.get(PORT.serverHealth, "/readyz?verbose"),
        },
        works: reach(stage),
      };
    },
  },
  {
    id: "names-agent-denies",
    group: "names",
    title: "the agent's --deny forbids the target",
    tells: {
      trace: { cause: /destination policy/, remedy: /--allow|--deny/ },
      "agent log": { cause: /127\.0\.0\.1/ },
    },
    async play(stage, isWrong) {
      const { agent } = await tunnel(stage, { agent: { flags: isWrong ? ["--deny=127.0.0.0/8"] : [] } });
      return {
        places: {
          trace: async () => (await trace(stage, `127.0.0.1:${PORT.target}`)).text,
          "agent log": () => agent.log.text.replaceAll(/.*(?:listening|connected to server|is up).*\n/g, ""),
        },
        works: reach(stage),
      };
    },
  },
  {
    id: "names-frontend-socket-missing",
    group: "names",
    title: "the caller names another socket than --uds-name",
    tells: { output: { cause: /other\.sock[\s\S]*(?:does not exist|no such file)/, remedy: /--uds-name|--frontend/ } },
    async play(stage, isWrong) {
      await tunnel(stage);
      const frontend = `http-connect+uds:${isWrong ? stage.file("other.sock") : stage.socket}`;
      return command(() => stage.drawbridge("trace", `127.0.0.1:${PORT.target}`, "--frontend", frontend));
    },
  },
  {
    id: "names-frontend-wrong-mode",
    group: "names",
    title: "the caller speaks gRPC to an http-connect frontend",
    tells: {
      output: { cause: /grpc|gRPC/, remedy: /--mode|http-connect/ },
      "server log": { cause: /HTTP\/2|gRPC/ },
    },
    async play(stage, isWrong) {
      const { server } = await tunnel(stage);
      const frontend = `${isWrong ? "grpc" : "http-connect"}+uds:${stage.socket}`;
      const run = () =>
        stage.drawbridge("trace", `127.0.0.1:${PORT.target}`, "--frontend", frontend, "--timeout", "3s");
      return command(run, { "server log": () => server.log.text });
    },
  },
  {
    id: "names-port-in-use",
    group: "names",
    title: "another process has the server's port",
    tells: {
      output: { cause: /7091[\s\S]*(?:in use|already)/, remedy: /ss -ltnp|[Ss]top the other process|another port/ },
    },
    async play(stage, isWrong) {
      if (isWrong) {
        const code = `require("node:net").createServer().listen(${PORT.agents}, () => console.log("has it"))`;
        const squatter = stage.start("squatter", [process.execPath, "-e", code]);
        await squatter.log.waitFor(/has it/, 10_000);
      }
      return endsAtOnce(isWrong, (isDoomed) => stage.server({ isDoomed }));
    },
  },
  {
    id: "names-admin-wrong-port",
    group: "names",
    title: "top asks the health port instead of the admin port",
    tells: { output: { cause: /admin API/, remedy: /--admin/ } },
    async play(stage, isWrong) {
      await stage.server();
      const admin = `http://127.0.0.1:${isWrong ? PORT.serverHealth : PORT.serverAdmin}`;
      return command(() => stage.drawbridge("top", "--once", "--token-file", stage.adminToken, "--admin", admin));
    },
  },
  {
    id: "names-server-count-too-high",
    group: "names",
    title: "--server-count is higher than the number of servers",
    isHarmless: true,
    tells: {
      "agent findings": { cause: /1 of the 2 servers/, remedy: /--server-count/ },
      doctor: { cause: /1 of the 2 servers/, remedy: /--server-count/ },
    },
    async play(stage, isWrong) {
      const server = await stage.server({ flags: [`--server-count=${isWrong ? 2 : 1}`] });
      const agent = await stage.agent();
      return {
        places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  },
  {
    id: "names-server-id-twice",
    group: "names",
    title: "two servers have the same --server-id",
    tells: {
      "agent log": { cause: /the same ID[^\n]*127\.0\.0\.1:7191/, remedy: /a --server-id of its own/ },
      "agent findings": { cause: /1 of the 2 servers/, remedy: /a --server-id of its own/ },
      doctor: { cause: /1 of the 2 servers/, remedy: /a --server-id of its own/ },
    },
    async play(stage, isWrong) {
      const count = "--server-count=2";
      const server = await stage.server({ flags: [count, "--server-id=bridge-a"] });
      const ports = ["--agent-port=7191", "--health-port=7192", "--admin-port=7195"];
      const id = `--server-id=bridge-${isWrong ? "a" : "b"}`;
      const second = await stage.server({ flags: [count, id, ...ports, `--uds-name=${stage.file("second.sock")}`] });
      const agent = await stage.agent({ host: `127.0.0.1:${PORT.agents},127.0.0.1:7191` });
      return {
        places: {
          ...agentPlaces(stage, agent),
          ...serverPlaces(stage, server),
          "second server's log": () => second.log.text,
          "second server's readyz": () => stage.get(7192, "/readyz?verbose"),
        },
        works: async () => (await stage.get(7192, "/readyz")).startsWith("200"),
      };
    },
  },
  {
    id: "names-readiness-all",
    group: "names",
    title: "--readiness=all, and one of the strategies has no agent",
    tells: {
      "server readyz": { cause: /lacks the identifiers that the strategy destHost looks for/ },
      "server findings": { cause: /strategy destHost looks for/, remedy: /--readiness=any[\s\S]*--agent-identifiers/ },
      "server doctor": { cause: /strategy destHost looks for/, remedy: /--readiness=any[\s\S]*--agent-identifiers/ },
    },
    untrue: [/only agents of its first strategy/],
    async play(stage, isWrong) {
      const server = await stage.server({ flags: ["--proxy-strategies=destHost,default", "--readiness=all"] });
      await stage.agent({ flags: isWrong ? [] : ["--agent-identifiers=ipv4=127.0.0.1"] });
      return {
        places: {
          "server readyz": () => stage.get(PORT.serverHealth, "/readyz?verbose"),
          ...serverPlaces(stage, server),
        },
        works: async () => (await stage.get(PORT.serverHealth, "/readyz")).startsWith("200"),
      };
    },
  },
];

playAll(rows);
