import { type Attack, BOUND_MIB } from "../attack.js";

const PATHS = [
  "/drawbridge/v1/agents",
  "/drawbridge/v1/tunnels",
  "/drawbridge/v1/events",
  "/drawbridge/v1/agents?token=undefined",
  "//drawbridge/v1/agents",
  "/metrics/../drawbridge/v1/agents",
  "/metrics/%2e%2e/drawbridge/v1/agents",
  "/drawbridge/v1/%61gents",
  "http://127.0.0.1/drawbridge/v1/agents",
  "/drawbridge/v1/session",
  "/debug/pprof/heap",
];
const CREDENTIALS = [
  "",
  "Authorization: Bearer\r\n",
  "Authorization: Bearer \r\n",
  "Authorization: Bearer undefined\r\n",
  "Authorization: Bearer the-token-that-no-attacker-ha\r\n",
  "Authorization: Bearer THE-TOKEN-THAT-NO-ATTACKER-HAS\r\n",
  "Authorization: Basic YWRtaW46YWRtaW4=\r\n",
  "Cookie: drawbridge-session=guess\r\n",
  "X-Forwarded-User: admin\r\nX-Forwarded-For: 127.0.0.1\r\n",
];

export const adminStrangers: Attack = {
  name: "admin-strangers",
  against: "admin port, without its token",
  description: "requests for everything the admin API has, with no credentials, wrong ones and odd paths",
  fixture: "server",
  boundMiB: BOUND_MIB,
  async run(target, work) {
    const requests = PATHS.flatMap((path) =>
      ["GET", "POST", "HEAD"].flatMap((method) => CREDENTIALS.map((credential) => ({ path, method, credential }))),
    );
    const one = async ({ path, method, credential }: (typeof requests)[number]) => {
      const socket = await work.connect(target.listeners.admin!);
      if (!socket) return;
      let answer = "";
      socket.on("data", (chunk: Buffer) => {
        answer += chunk.toString("latin1");
      });
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${credential}Connection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      await work.until(() => socket.destroyed || answer.includes("\r\n\r\n") || answer.length > 100_000);
      if (/"items"|"agentId"|^HTTP\/1\.1 2\d\d.*event-stream/s.test(answer)) {
        work.violation(`${method} ${path} was answered without the token`);
      }
      work.drop(socket);
    };
    for (let first = 0; first < requests.length; first += 10) {
      if (work.over) return work.note("not all requests were made");
      await Promise.all(requests.slice(first, first + 10).map(one));
    }
  },
};
