/** The facts of the host that doctor runs on, and of the cluster that it can ask. */
import { existsSync } from "node:fs";
import { lstat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { joinHostPort, splitHostPort } from "../../../base/address.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { CheckFailure } from "../../../base/finding.js";
import { httpGet } from "../../../base/http-get.js";
import { chooseAddress } from "../../../cluster/bootstrap/address/choose.js";
import { parsePrefix } from "../../../cluster/bootstrap/address/ip.js";
import { readAddressRecord } from "../../../cluster/bootstrap/address/record.js";
import { readEgress } from "../../../cluster/bootstrap/settings/egress-config.js";
import { serverSettings } from "../../../cluster/bootstrap/settings/programs.js";
import { type Lease, leasePath } from "../../../cluster/kube/lease.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeObject } from "../../../cluster/kube/port.js";
import { publishedAddresses } from "../../../cluster/nodes/controller/certificate.js";
import type { ConfigMap, Secret } from "../../../cluster/nodes/objects.js";
import { APPROVER_NAME, CONTROLLER_NAME } from "../../../cluster/nodes/permissions.js";
import type { NodePool } from "../../../cluster/nodes/pool/node-pool.js";
import { isTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { describeFrontend, type Frontend } from "../../../tunnel/client/frontend.js";
import { type FactSource, Unavailable } from "../check.js";
import type { DoctorContext, PoolObjects } from "../context.js";
import type { Facts, SocketFile } from "../facts.js";
import { handshakeWith } from "../host/handshake.js";
import { isListening, processFile } from "../host/this-host.js";
import { dialableHost, healthPortOf, programOf, titles } from "../programs.js";

const API_TIMEOUT = { timeoutMs: 10_000 };
const HEALTH_TIMEOUT_MS = 6_000;
const FIPS_FILE = "/proc/sys/crypto/fips_enabled";

export function hostSource(context: DoctorContext): FactSource {
  const { address, agentPort, egressConfig, env, host, model, networks, now, pki, ports, role, socket } = context;
  const kind = programOf(role) ?? "server";
  const program = async () => ({ kind, title: titles[kind], running: await host.running(kind) });
  return {
    now,
    role: () => role,
    model: () => model,
    program,
    nodeVersion: () => process.versions.node,
    networks: () => networks,
    listeners: () => host.listeners(),
    serverPorts: () => ({ agent: agentPort, ...ports }),
    socket: () => socketFile(socket),

    async isFips() {
      const enabled = await host.readText(FIPS_FILE);
      return enabled === undefined ? new Unavailable(`${FIPS_FILE} does not exist here`) : enabled.trim() === "1";
    },

    async podRoutes() {
      const pods = networks.pod.flatMap((text) => parsePrefix(text) ?? []);
      if (pods.length === 0) return new Unavailable("the pod network is not known", "Give --pod-network.");
      return Promise.all(pods.map(async (prefix) => ({ prefix, routes: await host.routesTo(prefix.firstHost) })));
    },

    async address() {
      try {
        const { machine: machineNetworks, service: serviceNetworks } = networks;
        const choice = await chooseAddress({ env, host: host.network, machineNetworks, serviceNetworks });
        const record = (await readAddressRecord(pki)) ?? (await readAddressRecord(dirname(egressConfig)));
        return { ...choice, recorded: record?.target };
      } catch (reason) {
        throw reason instanceof DrawbridgeError ? new CheckFailure(reason.message, reason.remedy) : reason;
      }
    },

    async certificates() {
      if (!existsSync(pki))
        return new Unavailable(`${pki} does not exist here`, "Name the directory of the certificates with --pki.");
      const { inspectPath } = await import("../../../tunnel/pki/inspect/inspect.js");
      // An agent has no certificate of the server's to look at; the handshake shows it.
      const dialled = address === undefined || role === "agent" ? {} : { address };
      return inspectPath(pki, { ...dialled, now: now() });
    },

    async egress() {
      const reading = await readEgress(egressConfig);
      const remedy = "Name the file of the kube-apiserver's --egress-selector-config-file with --egress-config.";
      return reading.state === "absent" ? new Unavailable(`${reading.path} does not exist`, remedy) : reading;
    },

    async serverFlags() {
      const server = (await host.running("server")) ?? (await serverSettings(model, [socket], false, async () => []));
      return server ?? new Unavailable("no server is here");
    },

    async openFiles() {
      const { running, title } = await program();
      const path = `/proc/${running?.pid ?? "self"}/limits`;
      const line = (await host.readText(path))?.split("\n").find((text) => text.startsWith("Max open files"));
      if (line === undefined) return new Unavailable(`${path} cannot be read`);
      const who = running === undefined ? "a program started from here" : `the running ${title} (${running.source})`;
      return { who, path, line };
    },

    async health() {
      const { running, title } = await program();
      if (running === undefined) return new Unavailable(`no ${title} runs in this network`);
      const own = healthPortOf(kind, running, ports.health);
      const remedy = "Start it with --health-port to see whether it is ready.";
      if (own === undefined) return new Unavailable(`the ${title} has no health port`, remedy);
      const url = `http://${own.text}/${kind === "ignition" ? "metrics" : "readyz"}`;
      return { url, answer: await httpGet(url, { timeoutMs: HEALTH_TIMEOUT_MS }).catch(messageOf) };
    },

    async agentPort() {
      if (address === undefined)
        return new Unavailable("where agents dial the server is not known", "Give it with --address.");
      // Without a server there is nothing to reach, and the check health says so.
      if (role !== "agent" && (await host.running("server")) === undefined)
        return new Unavailable("no proxy-server runs here");
      const file = join(pki, "ca.crt");
      return {
        ...{ where: joinHostPort(address, agentPort), port: agentPort, name: address },
        handshake: await handshakeWith(address, agentPort, "h2"),
        ca: { file, text: await host.readText(file) },
      };
    },

    ...sidecarFacts(context),
    ...adminFacts(context, program),
    ...clusterFacts(context),
    ...poolFacts(context),
  };
}

export async function socketFile(path: string): Promise<SocketFile> {
  const [parent, file] = await Promise.all([dirname(path), path].map((each) => lstat(each).catch(() => undefined)));
  return {
    path,
    directory: parent && { path: dirname(path), isDirectory: parent.isDirectory(), mode: parent.mode & 0o777 },
    file: file && {
      ...{ isSocket: file.isSocket(), mode: file.mode & 0o777 },
      isListening: file.isSocket() && (await isListening(path)),
    },
  };
}

function sidecarFacts({ env, host, sidecar }: DoctorContext): FactSource {
  const unknown = new Unavailable("no sidecar runs in this network, so its settings are not known");
  const dialled = async (frontend: Frontend): Promise<Facts["frontends"][number]> => {
    if ("uds" in frontend) return { frontend, isListening: await isListening(frontend.uds) };
    const { caFile = "", servername = frontend.host, ca } = frontend.tls;
    return {
      ...{ frontend, where: describeFrontend(frontend), port: frontend.port, name: servername },
      handshake: await handshakeWith(frontend.host, frontend.port, frontend.mode === "grpc" ? "h2" : "http/1.1"),
      ca: { file: caFile, text: ca ?? (caFile === "" ? undefined : await host.readText(caFile)) },
    };
  };
  return {
    frontends() {
      if (typeof sidecar === "string")
        throw new CheckFailure(sidecar, "Give --kubeconfig, --frontend and files as the sidecar sees them.");
      return sidecar === undefined ? unknown : Promise.all(sidecar.frontends.map(dialled));
    },
    nameResolution() {
      if (sidecar === undefined || typeof sidecar === "string") return unknown;
      const isPod = env.KUBERNETES_SERVICE_HOST !== undefined;
      return sidecar.listeners.map((listener) => ({
        ...listener,
        hasCluster: listener.kubeconfig === "" ? isPod : existsSync(listener.kubeconfig),
      }));
    },
  };
}

function adminFacts({ admin }: DoctorContext, program: () => Promise<Facts["program"]>): FactSource {
  const silent = new Unavailable("");
  return {
    adminPort() {
      if (admin.state === "failed") throw new CheckFailure(admin.why, admin.remedy);
      return admin.state === "open"
        ? admin
        : new Unavailable("the process was not asked through its admin port", admin.remedy);
    },
    overview: () => (admin.state === "open" ? admin.overview : silent),
    adminMetrics: () => (admin.state === "open" ? admin.metrics : silent),
    async deadSockets() {
      if (admin.state !== "open") return silent;
      const { running } = await program();
      if (running === undefined)
        return new Unavailable("the process is not on this host, so its listeners cannot be seen");
      const sockets = admin.overview.listeners.map(({ address }) => address).filter((each) => each.startsWith("/"));
      const dead: string[] = [];
      for (const path of sockets) if (!(await isListening(processFile(running.pid, path)))) dead.push(path);
      return dead;
    },
  };
}

/** What up, gather and teardown do. */
function neededPermissions(namespace: string): Readonly<Record<string, string>>[] {
  const inBridge = { namespace };
  return [
    { verb: "create", resource: "namespaces" },
    { verb: "delete", resource: "namespaces", name: namespace },
    { verb: "create", resource: "secrets", ...inBridge },
    { verb: "create", group: "apps", resource: "daemonsets", ...inBridge },
    { verb: "delete", group: "apps", resource: "daemonsets", ...inBridge },
    { verb: "list", resource: "pods", ...inBridge },
    { verb: "get", resource: "pods", subresource: "log", ...inBridge },
    { verb: "list", resource: "events", ...inBridge },
  ];
}

interface AccessReview extends KubeObject {
  readonly spec: { readonly resourceAttributes: Readonly<Record<string, string>> };
  readonly status?: { readonly allowed?: boolean };
}

function clusterFacts({ cluster, model, now }: DoctorContext): FactSource {
  const none = new Unavailable("no kubeconfig to look at the cluster with", "Give it with --kubeconfig, or --dir.");
  return {
    async apiVersion() {
      const remedy = "Check server and credentials with kubectl --kubeconfig FILE version.";
      if (typeof cluster === "string") throw new CheckFailure(cluster, remedy);
      if (cluster === undefined) return none;
      const { gitVersion = "" } = await cluster.api
        .get<KubeObject & { gitVersion?: string }>("/version", API_TIMEOUT)
        .catch((reason: unknown) => {
          throw new CheckFailure(withoutStop(reason), remedy);
        });
      return { server: cluster.server, version: gitVersion };
    },
    async missingPermissions() {
      if (cluster === undefined || typeof cluster === "string") return none;
      const missing: string[] = [];
      try {
        for (const resourceAttributes of neededPermissions(model.namespace)) {
          const kind = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview" };
          const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
          const review: AccessReview = { ...kind, spec: { resourceAttributes } };
          const { status } = await cluster.api.create<AccessReview>(path, review, API_TIMEOUT);
          if (status?.allowed !== true) missing.push(describePermission(resourceAttributes));
        }
      } catch (reason) {
        return new Unavailable(`the API cannot be asked about permissions: ${withoutStop(reason)}`);
      }
      return missing;
    },
    async apiTime() {
      if (cluster === undefined || typeof cluster === "string")
        return new Unavailable("there is no API server to compare clocks with", "Give --kubeconfig.");
      try {
        const { date, tookMs } = await cluster.date();
        return { server: cluster.server, here: now(), there: date, tookMs };
      } catch (reason) {
        return new Unavailable(`the API server's clock cannot be read: ${withoutStop(reason)}`);
      }
    },
  };
}

function describePermission({ verb, resource, subresource, namespace }: Readonly<Record<string, string>>): string {
  const what = subresource === undefined ? resource : `${resource}/${subresource}`;
  return namespace === undefined ? `${verb} ${what}` : `${verb} ${what} -n ${namespace}`;
}

function poolFacts({ address, host, objects, role }: DoctorContext): FactSource {
  const none = new Unavailable("the objects of the cluster are not known", "Give --kubeconfig and --namespace.");
  const withObjects =
    <T>(read: (usable: PoolObjects) => Promise<T | Unavailable>) =>
    async () => {
      if (typeof objects === "string") throw new CheckFailure(objects, "Check --kubeconfig with kubectl version.");
      return objects === undefined ? none : read(objects);
    };
  return {
    lease: withObjects(async ({ api, namespace }) => {
      const running = role === "approver" ? await host.running("approver") : undefined;
      if (running?.flags.get("dry-run") === "true") {
        return new Unavailable("the CSR approver runs with --dry-run and decides nothing, so it holds no Lease");
      }
      const name = role === "nodepool" ? CONTROLLER_NAME : APPROVER_NAME;
      const lease = await find<Lease>(api, leasePath(namespace, name), API_TIMEOUT);
      return { path: `Lease ${namespace}/${name}`, namespace, lease };
    }),
    pools: withObjects(async ({ api, namespace }) => {
      const { items } = await api.list<NodePool>(collectionPath("NodePool", namespace), API_TIMEOUT);
      return { namespace, items };
    }),
    tokenSecrets: withObjects(async ({ api, namespace }) => {
      const { items } = await api.list<Secret>(collectionPath("Secret", namespace), API_TIMEOUT);
      return { namespace, items: items.filter(isTokenSecret) };
    }),
    async ignitionPort() {
      const running = await host.running("ignition");
      if (running === undefined) return new Unavailable("no Ignition server runs in this network");
      const split = splitHostPort(running.flags.get("addr") ?? "0.0.0.0:9090");
      if ("error" in split) return new Unavailable(`its --addr cannot be read: ${split.error}`);
      const at = dialableHost(split.host);
      const handshake = await handshakeWith(at, Number(split.port), "http/1.1");
      return { where: joinHostPort(at, split.port), handshake };
    },
    async ignitionNames() {
      if (address !== undefined) return [address];
      if (objects === undefined || typeof objects === "string")
        return objects ?? "where machines find this server is not known";
      const { api, namespace } = objects;
      try {
        const { items } = await api.list<ConfigMap>(collectionPath("ConfigMap", namespace), API_TIMEOUT);
        // Whoever signed it, it must be for the address.
        const maps = items.map(({ data = {}, ...map }) => ({ ...map, data: { ...data, ignitionCA: "" } }));
        const { dnsNames, ipAddresses } = publishedAddresses(maps);
        const names = [...dnsNames, ...ipAddresses];
        return names.length > 0 ? names : `no cluster in ${namespace} publishes an Ignition server`;
      } catch (reason) {
        return `the clusters of ${namespace} cannot be read: ${withoutStop(reason)}`;
      }
    },
  };
}

const withoutStop = (reason: unknown): string => messageOf(reason).replace(/\.$/, "");
