/** The health and admin ports answer as upstream's do: status, type, place and body, before and after an agent connects. */
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { startAgent } from "../../support/processes/agent.js";
import { makePki } from "../../support/processes/certs.js";
import { type Origin, peersAvailable } from "../../support/processes/executables.js";
import { freePort } from "../../support/processes/ports.js";
import { Scope } from "../../support/processes/scope.js";
import { choosePlace, startServer } from "../../support/processes/server.js";

const available = peersAvailable("proxy-server", "proxy-agent");

const HEALTH_PATHS = ["/healthz", "/healthz/", "/ready", "/readyz", "/readyz?verbose", "/", "/nothing"];
const ADMIN_PATHS = ["/", "/healthz", "/metrics/", "/debug/pprof/", "/debug/pprof", "/debug/pprof/nothing"];

/** What a client sees of one answer, with ports (which differ from run to run) written as names. */
function ask(port: number, path: string, names: ReadonlyMap<number, string>, method = "GET"): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ host: "127.0.0.1", port, path, method, agent: false, timeout: 5_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.once("end", () => {
        const { "content-type": type, location } = response.headers;
        const seen = [method, path, response.statusCode, type, location, JSON.stringify(body)].join(" ");
        resolve([...names].reduce((text, [number, name]) => text.replaceAll(`:${number}/`, `:${name}/`), seen));
      });
    });
    call.once("timeout", () => call.destroy(new Error(`no answer from ${path}`)));
    call.once("error", reject).end();
  });
}

interface Answers {
  readonly server: string[];
  readonly agent: string[];
}

async function gather(server: Origin, agent: Origin, profiling: boolean): Promise<Answers> {
  const scope = new Scope();
  try {
    const flags = profiling ? ["--enable-profiling"] : [];
    const pki = makePki(scope.tempDir());
    const place = await choosePlace("connect-uds", scope.tempDir());
    const agentAdminPort = await freePort();
    const answers: Answers = { server: [], agent: [] };

    const agentProcess = await startAgent({
      origin: agent,
      serverPort: place.agentPort,
      pki,
      flags: [`--admin-server-port=${agentAdminPort}`, ...flags],
    });
    scope.use(agentProcess.process);
    const names = new Map([[agentProcess.healthPort, "health-port"]]);
    for (const path of HEALTH_PATHS) answers.agent.push(await ask(agentProcess.healthPort, path, names));

    // Not the agent's server yet: it waits elsewhere until the lonely answers are in.
    const lonely = await choosePlace("connect-uds", scope.tempDir());
    scope.use((await startServer({ origin: server, place: lonely, pki })).process);
    for (const path of HEALTH_PATHS) answers.server.push(await ask(lonely.healthPort, path, names));

    const serverProcess = await startServer({ origin: server, place, pki, flags });
    scope.use(serverProcess.process);
    await agentProcess.untilReady();
    await serverProcess.untilReady();
    for (const path of HEALTH_PATHS) {
      answers.server.push(await ask(place.healthPort, path, names));
      answers.agent.push(await ask(agentProcess.healthPort, path, names));
    }
    answers.server.push(await ask(place.healthPort, "/healthz", names, "POST"));
    // With profiling the index page is a page about another runtime, so it is left out.
    for (const path of ADMIN_PATHS.filter((candidate) => !(profiling && candidate === "/debug/pprof/"))) {
      answers.server.push(await ask(place.adminPort, path, names));
      answers.agent.push(await ask(agentAdminPort, path, names));
    }
    for (const method of ["GET", "POST"]) {
      answers.agent.push(await ask(agentAdminPort, "/metrics?x=1", names, method));
    }
    return answers;
  } finally {
    await scope.close();
  }
}

/** Upstream's answer says that there is no server; ours goes on with the reason. */
const withoutOurReason = (answer: string): string => answer.replace(/(no servers connected): .*(?=\\n"$)/, "$1");

describe.skipIf(!available).each([false, true])("health and admin ports, profiling %s", (profiling) => {
  test("of our server answer as upstream's", async () => {
    const [theirs, ours] = [await gather("theirs", "theirs", profiling), await gather("ours", "theirs", profiling)];
    expect(theirs.server.length).toBeGreaterThan(15);
    expect(ours.server).toEqual(theirs.server);
  });

  test("of our agent answer as upstream's", async () => {
    const [theirs, ours] = [await gather("theirs", "theirs", profiling), await gather("theirs", "ours", profiling)];
    expect(theirs.agent.length).toBeGreaterThan(15);
    expect(ours.agent.map(withoutOurReason)).toEqual(theirs.agent);
    expect(ours.agent.join("\n")).toContain("DB_CONNECT_REFUSED");
  });
});
