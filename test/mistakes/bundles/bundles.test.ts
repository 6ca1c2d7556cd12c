/** `drawbridge bootstrap analyze` on bundles of hosts where programs really ran into the fault, ours and upstream's. */
import { chmodSync, chownSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { makeControlPlane } from "../../support/lab/control-plane.js";
import { controlPlaneExecutables } from "../../support/lab/equipment.js";
import { byService, configMap, endpoints, namespace, service, validatingWebhook } from "../../support/lab/objects.js";
import { run } from "../../support/lab/run.js";
import { Scope } from "../../support/lab/scope.js";
import type { Origin } from "../../support/processes/executables.js";
import { playAll } from "../framework/play.js";
import type { Mistake } from "../framework/row.js";
import type { Stage } from "../framework/stage.js";
import { BundledHost } from "./host.js";

type Row = Omit<Mistake, "group" | "play" | "tells"> & {
  readonly cause: RegExp;
  readonly remedy: RegExp;
  /** Whose programs make the bundles; both unless given. */
  readonly origins?: readonly Origin[];
  /** Lets the host run, into the fault or not, and says whether its bridge works. */
  happen(host: BundledHost, isWrong: boolean): Promise<boolean>;
  /** What becomes of the archive on its way. */
  carry?(archive: string, isWrong: boolean): void;
};

const BOTH: readonly Origin[] = ["ours", "theirs"];

const row = ({ cause, remedy, origins = BOTH, happen, carry, ...rest }: Row): Mistake => ({
  ...rest,
  needs: { upstream: true, ...rest.needs },
  group: "bundles",
  tells: Object.fromEntries(origins.map((origin) => [`analyze, ${origin}`, { cause, remedy }])),
  async play(stage, isWrong) {
    const archives = new Map<Origin, string>();
    let works = true;
    for (const origin of origins) {
      const host = new BundledHost(stage, origin);
      await host.bootkube("record_service_stage_start cb-bootstrap; record_service_stage_success");
      works = (await happen(host, isWrong)) && works;
      const archive = host.gather();
      carry?.(archive, isWrong);
      archives.set(origin, archive);
      await stage.clear();
    }
    const ask = (origin: Origin) => async () =>
      (await stage.drawbridge("bootstrap", "analyze", archives.get(origin)!)).text;
    return {
      places: Object.fromEntries(origins.map((origin) => [`analyze, ${origin}`, ask(origin)])),
      // And nothing at all is found: a bundle of a bridge that works has nothing to say.
      async works() {
        const said = works ? await Promise.all(origins.map((origin) => ask(origin)())) : [""];
        return said.every((text) => text.includes("Nothing wrong was found."));
      },
    };
  },
});

/** Server and agent, the agent with what is wrong with it. */
async function both(host: BundledHost, isWrong: boolean, agent: Parameters<BundledHost["agent"]>[0]): Promise<boolean> {
  await host.server();
  host.agent(isWrong ? agent : {});
  await (isWrong ? host.untilAgentFails() : host.untilConnected());
  return host.isConnected();
}

/** A mount namespace with these files instead of the host's. */
function withFiles(stage: Stage, files: Readonly<Record<string, string>>): string[] {
  const mounts = Object.entries(files).map(([path, text]) => {
    return `mount --bind ${stage.write(path.replaceAll("/", "-"), text)} ${path}`;
  });
  return ["unshare", "--mount", "--", "bash", "-c", `${mounts.join(" && ")} && exec "$@"`, "bash"];
}

const NAME = "bootstrap.cluster.example";

/** etcd and a kube-apiserver in the host's network, the latter started behind a command. */
async function controlPlane({ stage }: BundledHost, through = "") {
  const scope = new Scope("bundle");
  stage.scope.defer(() => scope.close());
  const executables = controlPlaneExecutables();
  const kubeApiServer = scope.file("start-kube-apiserver");
  writeFileSync(kubeApiServer, `#!/bin/sh\nexec ${through} ${executables.kubeApiServer} "$@"\n`, { mode: 0o755 });
  const place = { netns: stage.netns.name, host: "127.0.0.1" };
  return { scope, ...(await makeControlPlane(scope, { executables: { ...executables, kubeApiServer }, ...place })) };
}

/** A real kube-apiserver that needs a webhook in a pod; gives its log to the host, and whether the call got out. */
async function callWebhook(host: BundledHost, egress: string | undefined, through = ""): Promise<string> {
  const { stage } = host;
  const plane = await controlPlane(host, through);
  await plane.apiServer.start(egress);
  const create = (object: object) =>
    run([controlPlaneExecutables().kubectl, "--kubeconfig", plane.adminConfig, "create", "-f", "-"], {
      ...{ netns: stage.netns.name, input: JSON.stringify(object) },
    });
  const hook = validatingWebhook("w", "w", byService("/x"), plane.ca.cert);
  for (const object of [namespace, service, endpoints, hook]) await create(object);
  const { stderr } = await create(configMap("a", "w"));
  const log = plane.apiServer.process.log();
  host.keepLog("kube-apiserver", () => log);
  await plane.scope.close();
  return `${stderr}${log}`;
}

const EGRESS_FLAG = { "egress-selector-config-file": ["/etc/kubernetes/config/egress-selector-config.yaml"] };

/** The kube-apiserver reached the server, wherever the call ended then. */
const reachedServer = (said: string): boolean => !/dial unix/.test(said);

const rows: readonly Mistake[] = [
  row({
    id: "bundle-wrong-ca",
    title: "a bundle of agents that have another authority than the server",
    cause: /certificates do not come from the same authority/,
    remedy: /Make new certificates/,
    untrue: [/firewall|route/],
    happen: (host, isWrong) => both(host, isWrong, { ca: host.stage.pki.foreignCa.cert }),
  }),
  row({
    id: "bundle-expired",
    title: "a bundle of a server whose certificate has expired",
    cause: /certificate of the bridge has expired/,
    remedy: /Make new certificates/,
    async happen(host, isWrong) {
      const { make, ca } = host.stage.pki;
      const wish = { use: "server", ips: ["127.0.0.1"], fromMin: -600, untilMin: -37 } as const;
      await host.server(isWrong ? { cert: await make.issue(ca, "server-old", wish) } : {});
      host.agent();
      await (isWrong ? host.untilAgentFails() : host.untilConnected());
      return host.isConnected();
    },
  }),
  row({
    id: "bundle-no-server",
    title: "a bundle of agents without a server; with one that came late there is nothing to say",
    cause: /reach the bootstrap host, but nothing listens on TCP 7091/,
    remedy: /Look at the server first/,
    async happen(host, isWrong) {
      host.agent();
      await host.untilAgentFails();
      if (isWrong) return false;
      await host.server();
      await host.untilConnected();
      return true;
    },
  }),
  row({
    id: "bundle-dns",
    title: "a bundle of agents whose name server does not answer",
    cause: /cannot resolve the server's name by DNS/,
    remedy: /resolv\.conf/,
    // Of the server; an agent's log, which is quoted, may say so of the name server.
    untrue: [/^(?!.*\.log:\d+: ).*(?:firewall|no route|nothing listens|port-)/m],
    async happen(host, isWrong) {
      const { stage } = host;
      const hosts = `127.0.0.1 localhost${isWrong ? "" : ` ${NAME}`}\n`;
      const files = { "/etc/resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", "/etc/hosts": hosts };
      const { make, ca } = stage.pki;
      await host.server({ cert: await make.issue(ca, "server-named", { use: "server", dns: [NAME] }) });
      host.agent({ host: NAME, through: withFiles(stage, files) });
      await (isWrong ? host.untilAgentFails() : host.untilConnected());
      return host.isConnected();
    },
  }),
  row({
    id: "bundle-cut",
    title: "a bundle that was cut off on its way",
    isHarmless: true,
    cause: /he bundle is not whole: it ends in the middle, after \d+ files/,
    remedy: /Copy it again/,
    happen: (host) => both(host, false, {}),
    carry(archive, isWrong) {
      const whole = readFileSync(archive);
      if (isWrong) writeFileSync(archive, whole.subarray(0, Math.floor(whole.length * 0.6)));
    },
  }),
  row({
    id: "bundle-no-egress-flag",
    title: "a bundle of a kube-apiserver without the egress flag",
    needs: { controlPlane: true },
    cause: /kube-apiserver has no --egress-selector-config-file/,
    remedy: /drawbridge bootstrap inject --check/,
    async happen(host, isWrong) {
      await both(host, false, {});
      host.apiServerConfig(isWrong ? {} : EGRESS_FLAG);
      const said = await callWebhook(host, isWrong ? undefined : host.egress());
      return !isWrong && reachedServer(said);
    },
  }),
  row({
    id: "bundle-no-socket",
    title: "a bundle of a kube-apiserver that does not find the socket",
    needs: { controlPlane: true },
    cause: /kube-apiserver does not find the socket .*no such file or directory/,
    remedy: /mounted into the kube-apiserver's pod/,
    async happen(host, isWrong) {
      await both(host, false, {});
      host.apiServerConfig(EGRESS_FLAG);
      if (isWrong) rmSync(host.socket);
      return reachedServer(await callWebhook(host, host.egress()));
    },
  }),
  row({
    id: "bundle-socket-denied",
    title: "a bundle of a kube-apiserver that may not use the socket",
    needs: { controlPlane: true },
    cause: /kube-apiserver may not use the socket .*permission denied/,
    remedy: /owner and mode/,
    async happen(host, isWrong) {
      await both(host, false, {});
      host.apiServerConfig(EGRESS_FLAG);
      chmodSync(host.socket, 0o700);
      if (isWrong) chownSync(host.socket, 65534, 65534);
      // Root without the right to pass over modes, as under SELinux.
      const through = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all --";
      return reachedServer(await callWebhook(host, host.egress(), through));
    },
  }),
  row({
    id: "bundle-cleanup-failed",
    title: "a bundle of a host whose clean-up failed although bootkube succeeded",
    needs: { controlPlane: true },
    // The scripts are the same for every program.
    origins: ["ours"],
    cause: /are still in the cluster: the clean-up has not succeeded in \d+ attempts? since.*(refused|connect)/,
    remedy: /drawbridge bootstrap teardown --dir/,
    async happen(host, isWrong) {
      const plane = await controlPlane(host);
      await plane.apiServer.start();
      if (isWrong) await plane.apiServer.stop();
      host.put("opt/openshift/auth/kubeconfig", readFileSync(plane.adminConfig, "utf8"));
      await host.bootkube("konnectivity_cleanup", controlPlaneExecutables().kubectl);
      await plane.scope.close();
      return !isWrong;
    },
  }),
];

playAll(rows);
