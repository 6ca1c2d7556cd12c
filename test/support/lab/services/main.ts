/**
 * kube-proxy and cluster DNS in one small process: it looks at Services and endpoints again and again, writes packet
 * filter rules into the nodes' network namespaces, and answers pods that ask for Services by name.
 *
 *   main.ts <kubeconfig> <address to answer DNS at> <pod network> <network namespace>...
 */
import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { setTimeout as sleep } from "node:timers/promises";
import { openKubeApi } from "../../../../src/cluster/kube/open.js";
import { decodeQuery, encodeAnswer } from "../../../../src/tunnel/wire/testing/dns-server.js";
import { CHAIN, type EndpointSlice, rulesOf, type Service, zoneOf } from "./desired.js";

const LOOK_EVERY_MS = 300;

const [kubeconfig = "", host = "", podNetwork = "", ...namespaces] = process.argv.slice(2);
let zone = new Map<string, string>();

const dns = createSocket("udp4");
dns.on("message", (message, { address, port }) => {
  const query = decodeQuery(message);
  const ip = zone.get(query.name.toLowerCase());
  const record = { type: "A", name: query.name, seconds: 1, address: ip ?? "" } as const;
  const records = ip === undefined || query.type !== "A" ? [] : [record];
  const answer = encodeAnswer(query, { rcode: ip === undefined ? 3 : 0, records });
  dns.send(answer, port, address);
});
dns.bind(53, host);

function restore(rules: string): void {
  for (const netns of namespaces) {
    const command = [`--net=/run/netns/${netns}`, "--", "iptables-restore", "--noflush"];
    execFileSync("nsenter", command, { input: rules });
  }
}

const inPodNetwork = `-s ${podNetwork} -d ${podNetwork} -m conntrack --ctstate DNAT`;
restore(
  [
    "*nat",
    `:${CHAIN} - [0:0]`,
    `-A PREROUTING -j ${CHAIN}`,
    `-A OUTPUT -j ${CHAIN}`,
    // Two pods of one node would answer each other past the rules.
    `-A POSTROUTING ${inPodNetwork} -j MASQUERADE`,
    "COMMIT\n",
  ].join("\n"),
);

const api = await openKubeApi({ kubeconfig, qps: 50, burst: 50 });
let written = "";
for (;;) {
  try {
    const { items: services } = await api.list<Service>("/api/v1/services");
    const { items: slices } = await api.list<EndpointSlice>("/apis/discovery.k8s.io/v1/endpointslices");
    zone = zoneOf(services);
    const rules = rulesOf(services, slices);
    if (rules !== written) {
      restore(rules);
      written = rules;
      process.stdout.write(`${rules}\nwritten\n`);
    }
  } catch (reason) {
    // The kube-apiserver may be starting again; what was written stays.
    process.stdout.write(`${reason}\n`);
  }
  await sleep(LOOK_EVERY_MS);
}
