/** An agent whose environment names a proxy that does not lead to the server. */
import { startProxy } from "./framework/others.js";
import { playAll } from "./framework/play.js";
import type { Mistake } from "./framework/row.js";
import { agentPlaces, serverPlaces } from "./framework/scenes.js";
import { PORT, type Stage } from "./framework/stage.js";

/** An address of this host that agents dial: a proxy is never asked for a loopback address. */
const HOST = "10.78.0.1";

type Row = Omit<Mistake, "group" | "play" | "tells"> & {
  readonly cause: RegExp;
  readonly proxy: (stage: Stage) => string | Promise<string>;
};

/** Taken back by NO_PROXY, which is what the remedy says. */
const proxied = ({ cause, proxy, ...rest }: Row): Mistake => {
  const remedy = /HTTPS_PROXY[\s\S]*NO_PROXY/;
  return {
    ...rest,
    group: "names",
    tells: {
      "agent log": { cause, remedy },
      "agent readyz": { cause, remedy },
      "agent findings": { cause, remedy },
      doctor: { cause, remedy },
    },
    async play(stage, isWrong) {
      await stage.netns.run("ip", "addr", "replace", `${HOST}/32`, "dev", "lo");
      const { make, ca } = stage.pki;
      const cert = await make.issue(ca, "server-here", { use: "server", ips: [HOST, "127.0.0.1"] });
      const server = await stage.server({ cert });
      const env = { HTTPS_PROXY: await proxy(stage), NO_PROXY: isWrong ? undefined : HOST };
      const agent = await stage.agent({ host: HOST, env });
      return {
        places: { ...agentPlaces(stage, agent), ...serverPlaces(stage, server) },
        works: async () => (await stage.isAgentConnected()) === true,
      };
    },
  };
};

const rows: readonly Mistake[] = [
  proxied({
    id: "names-proxy-closed",
    title: "nothing listens where HTTPS_PROXY leads",
    cause: /10\.78\.0\.1:7091 through the proxy http:\/\/127\.0\.0\.1:7444 of HTTPS_PROXY[\s\S]{0,100}refused/,
    proxy: () => `http://127.0.0.1:${PORT.closed}`,
  }),
  proxied({
    id: "names-proxy-unreachable",
    title: "there is no route to the proxy of HTTPS_PROXY",
    cause: /through the proxy http:\/\/192\.0\.2\.7:3128 of HTTPS_PROXY[\s\S]{0,100}unreachable/,
    proxy: () => "http://192.0.2.7:3128",
  }),
  proxied({
    id: "names-proxy-forbids",
    title: "the proxy of HTTPS_PROXY does not allow the server's address",
    cause: /through the proxy http:\/\/127\.0\.0\.1:7443 of HTTPS_PROXY[\s\S]{0,100}403 Forbidden/,
    proxy: (stage) => startProxy(stage, 403),
  }),
  proxied({
    id: "names-proxy-login",
    title: "the proxy of HTTPS_PROXY wants a login",
    cause: /through the proxy http:\/\/127\.0\.0\.1:7443 of HTTPS_PROXY: it wants a login \(407/,
    proxy: (stage) => startProxy(stage, 407),
  }),
  proxied({
    id: "names-proxy-password",
    title: "the login in HTTPS_PROXY is not the proxy's",
    cause: /through the proxy http:\/\/127\.0\.0\.1:7443 of HTTPS_PROXY: it does not accept the login/,
    untrue: [/pa55word/],
    proxy: async (stage) => (await startProxy(stage, 407)).replace("//", "//agent:pa55word@"),
  }),
];

playAll(rows);
