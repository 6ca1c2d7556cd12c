/** The facts of the host that doctor runs on, and of the cluster that it can ask. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { splitHostPort } from "../../../base/address.js";
import { systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import { unreadBecause } from "../../../base/errors/unread.js";
import { CheckFailure } from "../../../base/finding.js";
import { httpGet } from "../../../base/http-get.js";
import { chooseAddress } from "../../../cluster/bootstrap/address/choose.js";
import { parseNetwork } from "../../../cluster/bootstrap/address/ip.js";
import { openshiftHost, ports } from "../../../cluster/bootstrap/model/names.js";
import { readEgress } from "../../../cluster/bootstrap/settings/egress-config.js";
import { serverSettings } from "../../../cluster/bootstrap/settings/programs.js";
import { type Lease, leasePath } from "../../../cluster/kube/lease.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, typed } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { publishedAddresses } from "../../../cluster/nodes/controller/certificate.js";
import type { ConfigMap, Secret } from "../../../cluster/nodes/objects.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../../cluster/nodes/permissions.js";
import type { NodePool } from "../../../cluster/nodes/pool/node-pool.js";
import { isTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import type { Frontend } from "../../../tunnel/client/frontend.js";
import { startWarnings } from "../../../tunnel/start-warnings.js";
import type { HistoryInfo, Overview } from "../../observe/admin/contract.js";
import { AdminPort } from "../../watch/admin-port.js";
import { notedCleanup } from "../bundle/collect.js";
import { type FactSource, type Gatherer, unavailable } from "../check.js";
import { findNetworks } from "../find-networks.js";
import { adminOf } from "../host/admin-here.js";
import { dialAsAgent, dialByDirectory } from "../host/as-agent.js";
import { certificateAt, dialAsClient } from "../host/as-client.js";
import { isListening, processFile, readableHere, readSocketFile, whyForbidden } from "../host/this-host.js";
import { type DoctorPlace, worksOnObjects } from "../place.js";
import { adminPortOf, dialableHost, healthFlagOf, healthPortOf, PROGRAMS, programOf, startOf } from "../programs.js";
import { apiFailure, inspectDirectory, readVersion } from "./bridge.js";
import { readRemains } from "./remains.js";

const API_TIMEOUT = { timeoutMs: 10_000 };
const HEALTH_TIMEOUT_MS = 6_000;
const FIPS_FILE = "/proc/sys/crypto/fips_enabled";

/** Clients that are opened while facts are gathered are added to `opened`; the caller closes them. */
export function hostSource(place: DoctorPlace, opened: KubeApi[]): FactSource {
  const { address, agentPort, egressConfig, env, host, isBridge, model, now, pki, role, socket } = place;
  const kind = programOf(role) ?? "server";
  return {
    now,
    role: () => role,
    model: () => model,
    program: async () => {
      return { kind, title: PROGRAMS[kind].title, running: await host.running(kind), start: startOf(kind, isBridge) };
    },
    nodeVersion: () => process.versions.node,
    listeners: () => host.listeners(),
    // Without a reason: only a bridge, or --uds-name, has one.
    socket: () => (isBridge || existsSync(socket) || place.isSocketGiven ? readSocketFile(socket) : unavailable("")),

    async networks(facts) {
      const cluster = await facts.get("cluster").catch(() => undefined);
      const { machineNetwork: machine, podNetwork: pod, serviceNetwork: service } = place;
      const given = { machine, pod, service };
      return findNetworks({ given, dir: place.dir, role, api: cluster?.api, network: host.network });
    },

    async serverPorts(facts) {
      const { running } = await facts.get("program");
      // Which ports a server will have that does not run yet is known of a bridge, or where somebody plans one by flags.
      const isPlanned = place.isSocketGiven || place.isAddressGiven || place.healthPort || place.adminPort;
      if (running === undefined && !isBridge && !isPlanned) return unavailable("");
      // The flags of a running server take precedence over the bridge's defaults: it may not be the bridge's server.
      const health = running === undefined ? ports.health : (healthPortOf(kind, running)?.port ?? 0);
      const admin = (running && adminPortOf(kind, running)?.port) ?? ports.admin;
      return { agent: agentPort, health: place.healthPort || health, admin: place.adminPort || admin };
    },

    async isFips() {
      const enabled = await host.readText(FIPS_FILE);
      return enabled === undefined ? unavailable(`${FIPS_FILE} does not exist here`) : enabled.trim() === "1";
    },

    async podRoutes(facts) {
      const pods = (await facts.get("networks")).pod.flatMap((text) => parseNetwork(text) ?? []);
      if (pods.length === 0) return unavailable("the pod network is not known", "Give --pod-network.");
      return Promise.all(pods.map(async (prefix) => ({ prefix, routes: await host.routesTo(prefix.firstHost) })));
    },

    async address(facts) {
      try {
        if (role === "server" && !place.isAddressGiven && !isBridge && (await host.running("server")))
          return unavailable("the server here is no bridge's, so no address of this host has to be chosen");
        const { machine: machineNetworks, service: serviceNetworks } = await facts.get("networks");
        if (place.isAddressGiven && isIP(address) === 0)
          return unavailable(`agents dial ${address}, a name, so no address of this host has to be chosen`);
        const flag = place.isAddressGiven ? { name: "--address", value: address } : undefined;
        const choice = await chooseAddress({ flag, env, host: host.network, machineNetworks, serviceNetworks });
        const [recorded] = model.serverAddresses;
        return {
          ...choice,
          recorded: isIP(recorded) === 0 ? undefined : recorded,
          isPlanned: !isBridge && !place.isAddressGiven,
        };
      } catch (reason) {
        const remedy = "Give the address that agents dial with --address, or in DRAWBRIDGE_BOOTSTRAP_NODE_IP.";
        throw reason instanceof DrawbridgeError ? new CheckFailure(reason.message, remedy) : reason;
      }
    },

    // Without a reason: most hosts have none.
    async cleanup() {
      const { cleanupState: path } = openshiftHost;
      return { noted: notedCleanup(path, (await host.readText(path)) ?? "") ?? unavailable("") };
    },

    // The server's certificate is not on an agent's host; the handshake shows it.
    async certificates(facts) {
      const { running } = await facts.get("program");
      // A running program that is no bridge's has files of its own, which the handshake and the process itself judge.
      const hasOwn = running !== undefined && (role === "agent" || !isBridge);
      if (hasOwn && !existsSync(pki)) return unavailable("");
      return inspectDirectory({ directory: pki, given: false }, role === "agent" ? undefined : address, now());
    },

    async egress() {
      const reading = await readEgress(egressConfig);
      const remedy = "Name the file of the kube-apiserver's --egress-selector-config-file with --egress-config.";
      return reading.state === "absent" ? unavailable(`${reading.path} does not exist`, remedy) : reading;
    },

    async serverFlags() {
      const server = (await host.running("server")) ?? (await serverSettings(model, [socket], false, async () => []));
      return server ?? unavailable("no server is here");
    },

    async openFiles(facts) {
      const { running, title } = await facts.get("program");
      const path = `/proc/${running?.pid ?? "self"}/limits`;
      const line = (await host.readText(path))?.split("\n").find((text) => text.startsWith("Max open files"));
      const who = running === undefined ? "a program started from here" : `the running ${title} (${running.source})`;
      return { who, path, line: line ?? unavailable(`${path} cannot be read`) };
    },

    async health(facts) {
      const { running, title } = await facts.get("program");
      if (running === undefined) return unavailable(`no ${title} runs in this network`);
      const own = healthPortOf(kind, running, place.healthPort || undefined);
      const remedy = `Start it with --${healthFlagOf(kind)} to see whether it is ready.`;
      if (own === undefined) return unavailable(`the ${title} has no health port`, remedy);
      const url = `http://${own.text}/${kind === "ignition" ? "metrics" : "readyz"}`;
      return { url, answer: await httpGet(url, { timeoutMs: HEALTH_TIMEOUT_MS }).catch(messageOf) };
    },

    async startWarnings(facts) {
      const { running } = await facts.get("program");
      if (running === undefined) return unavailable("");
      const { flags, pid } = running;
      const files = (...names: string[]) =>
        names.flatMap((name) => (flags.get(name) ? [processFile(pid, flags.get(name)!)] : []));
      const [adminTokenFile = "", agentTokenFile = ""] = ["admin-token-file", "service-account-token-path"].map(
        (name) => files(name)[0] ?? "",
      );
      const keyFiles = files("cluster-key", "server-key", "agent-key", "tls-key-path", "admin-key-file");
      // The process itself says it of those that it has loaded.
      const areDatesSaid = (await facts.get("overview").catch(() => undefined)) !== undefined;
      const certFiles = files(
        ...["cluster-cert", "cluster-ca-cert", "server-cert", "server-ca-cert", "agent-cert", "ca-cert"],
        ...["tls-cert-path", "ca-cert-path", "admin-cert-file"],
      );
      const caFiles = files("cluster-ca-cert", "server-ca-cert", "ca-cert", "ca-cert-path");
      readableHere(pid, [...certFiles, ...caFiles, ...keyFiles, adminTokenFile, agentTokenFile]);
      const isCounting = flags.get("enable-lease-controller") === "true" || !flags.has("server-count");
      return startWarnings(
        {
          ...{ certFiles, areDatesSaid, caFiles, keyFiles, adminTokenFile, agentTokenFile },
          identifiers: flags.get("agent-identifiers") ?? "",
          ...(isCounting ? {} : { serverCount: Number(flags.get("server-count")) }),
        },
        now(),
      );
    },

    async agentSettings() {
      const running = await host.running("agent");
      if (running === undefined) return unavailable("");
      return place.programSettings.agent(running);
    },

    async agentPorts(facts) {
      const running = await host.running(kind);
      if (role === "agent" && running !== undefined) {
        const settings = await facts.get("agentSettings");
        readableHere(running.pid, [settings.tls.caFile, settings.tls.certFile, settings.tls.keyFile]);
        const servers = place.isAddressGiven ? [{ host: address, port: agentPort }] : settings.servers;
        return dialAsAgent({ ...settings, servers });
      }
      if (address === "" && role === "agent")
        return unavailable("where agents dial the server is not known", "Give it with --address.");
      // The check health reports a server that does not run.
      if (role !== "agent" && running === undefined) return unavailable("no proxy-server runs here");
      const own = dialableHost(running?.flags.get("agent-bind-address") ?? "");
      const file = running?.flags.get("cluster-cert");
      const ownFile = running && (file ? processFile(running.pid, file) : "");
      if (running && ownFile) readableHere(running.pid, [ownFile]);
      const dialled = { host: address || own, port: agentPort, isName: address !== "" };
      return dialByDirectory({ directory: pki, ownFile, ...dialled });
    },

    ...sidecarFacts(place),
    ...adminFacts(place),
    ...clusterFacts(place, opened),
    ...objectFacts(place, opened),
  };
}

function sidecarFacts({ env, host, programSettings }: DoctorPlace): FactSource {
  return {
    async sidecar() {
      const running = await host.running("sidecar");
      if (running === undefined) return unavailable("no sidecar runs in this network, so its settings are not known");
      return programSettings.sidecar(running);
    },
    async frontends(facts) {
      const { frontends } = await facts.get("sidecar");
      const running = await host.running("sidecar");
      if (running !== undefined) readableHere(running.pid, frontends.flatMap(filesOf));
      return Promise.all(
        frontends.map(async (frontend) => {
          const forbidden = running && "uds" in frontend ? whyForbidden(running.pid, frontend.uds) : undefined;
          return { ...(await dialAsClient(frontend)), forbidden };
        }),
      );
    },
    async nameResolution(facts) {
      const { listeners } = await facts.get("sidecar");
      const isPod = env.KUBERNETES_SERVICE_HOST !== undefined;
      return listeners.map((listener) => ({
        ...listener,
        hasCluster: listener.kubeconfig === "" ? isPod : existsSync(listener.kubeconfig),
      }));
    },
  };
}

const filesOf = (frontend: Frontend): string[] =>
  "uds" in frontend
    ? [frontend.uds]
    : [frontend.tls.caFile ?? "", frontend.tls.certFile ?? "", frontend.tls.keyFile ?? ""];

const READ_AS_ROOT = "Run doctor as root, or name a copy of it with --token-file.";
const NAME_TOKEN = "Give --token-file the file that the process was started with as --admin-token-file.";
const MAKE_TOKEN =
  "Make it again, a file of one line with a long random token, for example of openssl rand -hex 32; the process reads it at the next request.";

/** The answers of an admin port: the one of --admin, else that of the program that runs here. */
function adminFacts({ admin, caFile, host, now, tokenFile }: DoctorPlace): FactSource {
  return {
    async adminPort(facts) {
      const { kind, running } = await facts.get("program");
      const own = running && adminOf(kind, running);
      const url = admin || own?.url;
      const file = tokenFile || own?.tokenFile;
      if (!url || !file) {
        const toStart = running ? "Start it with an admin port to see more (docs/admin-api.md)." : "";
        const toName = "Start it with --admin-token-file, or name that file with --token-file, to see more.";
        const unknown = "the process was not asked through its admin port, so whom it refused is not known";
        return unavailable(unknown, url ? toName : toStart);
      }
      // Only whoever may read it himself gets it, unless he was named: anybody can start a program under one of our names.
      const isOwn = admin === "" && running !== undefined;
      const given = async (): Promise<string> => (await host.readText(file)) ?? (await readFile(file, "utf8"));
      const token = await (isOwn ? host.readAs(running.pid, file) : given()).catch((reason: NodeJS.ErrnoException) => {
        const remedy = reason.code === "EACCES" ? READ_AS_ROOT : tokenFile ? NAME_TOKEN : MAKE_TOKEN;
        throw new CheckFailure(`the admin token file ${file} cannot be read: ${unreadBecause(reason)}`, remedy);
      });
      if (token === undefined) {
        const names = tokenFile === "" ? `names the admin token file ${file}, which it` : `was not sent the token: it`;
        const message = `${running?.source} ${names} may not read ${tokenFile === "" ? "itself" : `${file} itself`}`;
        const toName = tokenFile === "" ? "" : ", or name its admin port with --admin";
        const remedy = `Look whose process that is; where it is yours, let its user read the file${toName}.`;
        throw new CheckFailure(message, remedy);
      }
      const port = new AdminPort({
        url: new URL(url),
        token: token.trim(),
        userAgent: "drawbridge doctor",
        ca: caFile === "" ? undefined : await host.readText(caFile),
        caFile,
      });
      try {
        const began = performance.now();
        // Only an agent's metrics say how many servers it looks for.
        const [overview, metrics, history] = await Promise.all([
          port.get<Overview>(""),
          port.text("/metrics").catch(() => ""),
          // Older versions have none.
          port.get<HistoryInfo>("history").catch(() => undefined),
        ]);
        const { id, now: told, role } = overview.process;
        const clock = { whose: `that of the ${role} ${id}`, where: port.address, here: now(), there: new Date(told) };
        return {
          address: port.address,
          overview,
          metrics,
          history,
          clock: { ...clock, tookMs: performance.now() - began },
        };
      } catch (reason) {
        const remedy = reason instanceof DrawbridgeError ? reason.remedy : "Check --admin and --token-file.";
        throw new CheckFailure(reasonOf(reason), remedy);
      }
    },
    overview: async (facts) => (await facts.get("adminPort").catch(() => unavailable(""))).overview,
    history: async (facts) => (await facts.get("adminPort").catch(() => unavailable(""))).history ?? unavailable(""),
    async deadSockets(facts) {
      const { listeners } = await facts.get("overview");
      const { running } = await facts.get("program");
      if (running === undefined) return unavailable("the process is not on this host, so its listeners cannot be seen");
      const sockets = listeners.map(({ address }) => address).filter((each) => each.startsWith("/"));
      const dead: string[] = [];
      for (const path of sockets) if (!(await isListening(processFile(running.pid, path)))) dead.push(path);
      return dead;
    },
  };
}

/** The requests of bootstrap up, gather and teardown: verb, resource, API group, whether it is in the namespace. */
const PERMISSIONS = [
  ["create", "namespaces", "", false],
  ["delete", "namespaces", "", false],
  ["create", "secrets", "", true],
  ["create", "daemonsets", "apps", true],
  ["delete", "daemonsets", "apps", true],
  ["list", "pods", "", true],
  ["get", "pods/log", "", true],
  ["list", "events", "", true],
] as const;

interface AccessReview extends KubeObject {
  readonly spec: { readonly resourceAttributes: object };
  readonly status?: { readonly allowed?: boolean };
}

function clusterFacts(place: DoctorPlace, opened: KubeApi[]): FactSource {
  const { context, kubeconfig, model, now, role } = place;
  return {
    async cluster(facts) {
      const isInCluster = kubeconfig === "" && worksOnObjects(role) && !(await keepsFiles(facts));
      if (kubeconfig === "" && !isInCluster)
        return unavailable("no kubeconfig to look at the cluster with", "Give it with --kubeconfig, or --dir.");
      const { running } = await facts.get("program");
      if (isInCluster && running?.flags.get("kubeconfig"))
        return unavailable(
          `${running.source} is another user's or in a container, so its kubeconfig, which may start programs, is not used`,
          "Look at it, and give it with --kubeconfig.",
        );
      const [{ createKubeApi }, { kubeconfigEndpoint }, { inClusterEndpoint }] = await Promise.all([
        import("../../../cluster/kube/client.js"),
        import("../../../cluster/kube/kubeconfig/endpoint.js"),
        import("../../../cluster/kube/endpoint.js"),
      ]);
      try {
        const endpoint = isInCluster ? inClusterEndpoint() : await kubeconfigEndpoint(kubeconfig, context);
        const api = createKubeApi(endpoint);
        opened.push(api);
        return { api, server: endpoint.server, endpoint };
      } catch (reason) {
        throw apiFailure(reason);
      }
    },
    apiVersion: readVersion,
    bridgeRemains: readRemains,
    async missingPermissions(facts) {
      const missing: string[] = [];
      try {
        const { api } = await facts.get("cluster");
        for (const [verb, what, group, isInside] of PERMISSIONS) {
          const [resource, subresource] = what.split("/");
          const name = verb === "delete" ? { name: model.namespace } : {};
          const place = isInside ? { namespace: model.namespace } : name;
          const resourceAttributes = { verb, group, resource, ...(subresource && { subresource }), ...place };
          const review = typed<AccessReview>("SelfSubjectAccessReview", { spec: { resourceAttributes } });
          const path = collectionPath("SelfSubjectAccessReview");
          const { status } = await api.create<AccessReview>(path, review, API_TIMEOUT);
          if (status?.allowed !== true) missing.push(`${verb} ${what}${isInside ? ` -n ${model.namespace}` : ""}`);
        }
      } catch (reason) {
        return unavailable(`the API cannot be asked about permissions: ${reasonOf(reason)}`);
      }
      return missing;
    },
    async otherClock(facts) {
      const { endpoint } = await facts.get("cluster").catch(() => ({ endpoint: undefined }));
      // A process of this host has this host's clock; one that was named may be on another.
      const asked = place.admin === "" ? undefined : await facts.get("adminPort").catch(() => undefined);
      if (endpoint === undefined) return asked?.clock ?? unavailable("");
      const { kubeConnection } = await import("../../../cluster/kube/connection.js");
      const connection = kubeConnection(endpoint, systemClock);
      try {
        const began = performance.now();
        // Refused answers have a date as well.
        const response = await connection.open({ method: "GET", path: "/version" }, AbortSignal.timeout(10_000));
        response.resume();
        const there = new Date(response.headers.date ?? "");
        if (Number.isNaN(there.getTime())) throw new Error("its answer has no date");
        const whose = { whose: "the API server's", where: endpoint.server };
        return { ...whose, here: now(), there, tookMs: performance.now() - began };
      } catch (reason) {
        return unavailable(`the API server's clock cannot be read: ${reasonOf(reason)}`);
      } finally {
        connection.close();
      }
    },
  };
}

/** The directory in which the program here keeps its objects instead of in a cluster. */
async function keepsFiles(facts: Gatherer): Promise<string | undefined> {
  const { running } = await facts.get("program");
  const directory = running?.flags.get("directory");
  return directory && running && processFile(running.pid, directory);
}

/** Pools, tokens and leases. */
function objectFacts({ address, host, kubeconfig, namespace, role }: DoctorPlace, opened: KubeApi[]): FactSource {
  const listed = async <T extends KubeObject>(facts: Gatherer, kind: "NodePool" | "Secret" | "ConfigMap") => {
    const api = await facts.get("objects");
    return { namespace, items: (await api.list<T>(collectionPath(kind, namespace), API_TIMEOUT)).items };
  };
  return {
    async objects(facts) {
      const directory = await keepsFiles(facts);
      if (directory === undefined || kubeconfig !== "") return (await facts.get("cluster")).api;
      const { createDirectoryApi } = await import("../../../cluster/nodes/controller/directory.js");
      const api = createDirectoryApi({ directory });
      opened.push(api);
      return api;
    },
    async lease(facts) {
      const { running } = await facts.get("program");
      if (role === "approver" && running?.flags.get("dry-run") === "true")
        return unavailable("the CSR approver runs with --dry-run and decides nothing, so it holds no Lease");
      const name = role === "nodepool" ? CONTROLLER_NAME : APPROVER_NAME;
      const lease = await find<Lease>(await facts.get("objects"), leasePath(namespace, name), API_TIMEOUT);
      return { path: `Lease ${namespace}/${name}`, namespace, lease };
    },
    pools: (facts) => listed<NodePool>(facts, "NodePool"),
    async tokenSecrets(facts) {
      const { items } = await listed<Secret>(facts, "Secret");
      return { namespace, items: items.filter(isTokenSecret) };
    },
    async ignitionPort() {
      const running = await host.running("ignition");
      if (running === undefined) return unavailable("no Ignition server runs in this network");
      const split = splitHostPort(running.flags.get("addr") ?? "0.0.0.0:9090");
      if ("error" in split) return unavailable(`its --addr cannot be read: ${split.error}`);
      return certificateAt(dialableHost(split.host), Number(split.port));
    },
    async ignitionNames(facts) {
      if (address !== "") return [address];
      try {
        const { items } = await listed<ConfigMap>(facts, "ConfigMap");
        // Which authority signed it does not matter here, so the published authority is left out.
        const maps = items.map(({ data = {}, ...map }) => ({ ...map, data: { ...data, ignitionCA: "" } }));
        const { dnsNames, ipAddresses } = publishedAddresses(maps);
        const names = [...dnsNames, ...ipAddresses];
        return names.length > 0 ? names : `no cluster in ${namespace} publishes an Ignition server`;
      } catch (reason) {
        return `the clusters of ${namespace} cannot be read: ${reasonOf(reason)}`;
      }
    },
  };
}
