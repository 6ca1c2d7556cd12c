import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { peerPath } from "../../peers/index.js";
import { get } from "../../test/support/processes/http.js";
import { freePorts } from "../../test/support/processes/ports.js";
import type { Place } from "../isolation/place.js";
import type { Processes } from "../processes/processes.js";
import { ready } from "../processes/ready.js";
import { connectSocket } from "../tunnel/server.js";
import { Api } from "./api.js";
import { makeClusterCertificates } from "./certificates.js";
import { serviceKind } from "./objects.js";

export interface Programs {
  readonly etcd: string;
  readonly kubeApiServer: string;
}

export interface ControlPlane {
  readonly api: Api;
  /** As it says itself, e.g. `v1.34.0`. */
  readonly version: string;
}

/** The real thing where it is: built by `npm run peers`, or on PATH. */
export function findPrograms(): Programs | undefined {
  const [etcd, kubeApiServer] = [peerPath("etcd"), peerPath("kube-apiserver")];
  return etcd === undefined || kubeApiServer === undefined ? undefined : { etcd, kubeApiServer };
}

/** etcd and kube-apiserver on the control plane's side, cluster traffic sent through the proxy-server's Unix socket. */
export async function startControlPlane(
  processes: Processes,
  folder: string,
  programs: Programs,
  place: Place,
): Promise<ControlPlane> {
  const certificates = await makeClusterCertificates(join(folder, "cluster-pki"));
  const [etcdPort, peerPort, port] = (await freePorts(3)) as [number, number, number];
  const [etcdUrl, peerUrl] = [`http://127.0.0.1:${etcdPort}`, `http://127.0.0.1:${peerPort}`];
  const startProp = (name: string, argv: string[]) => processes.start(name, argv, { mayFail: true });
  const etcd = startProp("etcd", [
    programs.etcd,
    ...["--name=demo", `--data-dir=${join(folder, "etcd")}`, `--initial-cluster=demo=${peerUrl}`],
    ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
    ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
  ]);
  await ready(etcd, "to be healthy", 20_000, async () => (await get(etcdPort, "/health")).body.includes('"true"'));

  const { serving, tokenKey } = certificates;
  const kubeApiServer = startProp("kube-apiserver", [
    programs.kubeApiServer,
    `--etcd-servers=${etcdUrl}`,
    ...["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", `--secure-port=${port}`],
    // A loopback address may not stand in an Endpoints object.
    "--endpoint-reconciler-type=none",
    "--service-cluster-ip-range=10.96.0.0/16",
    // There is no kube-proxy: dial the endpoints of a service instead of its cluster address.
    `--enable-aggregator-routing=${serviceKind(place) === "endpoints"}`,
    ...["--authorization-mode=RBAC", `--client-ca-file=${serving.ca}`],
    ...[`--tls-cert-file=${serving.cert}`, `--tls-private-key-file=${serving.key}`],
    "--service-account-issuer=https://kubernetes.default.svc",
    ...[`--service-account-key-file=${tokenKey}`, `--service-account-signing-key-file=${tokenKey}`],
    "--disable-admission-plugins=ServiceAccount",
    `--egress-selector-config-file=${writeEgressConfig(folder)}`,
    "--profiling=false",
  ]);
  const api = new Api(port, certificates.admin);
  await ready(kubeApiServer, "to be ready", 45_000, async () => (await api.get("/readyz")).status === 200);
  const { gitVersion } = JSON.parse((await api.get("/version")).body) as { gitVersion: string };
  return { api, version: gitVersion };
}

function writeEgressConfig(folder: string): string {
  const udsName = connectSocket(folder);
  const connection = { proxyProtocol: "HTTPConnect", transport: { uds: { udsName } } };
  const config = {
    apiVersion: "apiserver.k8s.io/v1beta1",
    kind: "EgressSelectorConfiguration",
    egressSelections: [{ name: "cluster", connection }],
  };
  const file = join(folder, "egress.json");
  writeFileSync(file, JSON.stringify(config));
  return file;
}
