/** Every command of drawbridge: its name, what it does in a line, and the module it is in, loaded when it is called. */
import { defineCommand, type Runnable } from "./framework/define.js";
import { defineFamily } from "./framework/family.js";
import { versionFacts, versionText } from "./framework/version.js";

const pki = defineFamily("Makes, renews and explains the certificates of servers and agents.", {
  init: ["Make a signer and all certificates of an installation", () => import("./pki/init.js")],
  inspect: ["Explain certificates, what is wrong with them and what to do", () => import("./pki/inspect.js")],
  issue: ["Issue one more certificate with a kept signer key", () => import("./pki/issue.js")],
  renew: ["Issue again what is about to expire, with a kept signer key", () => import("./pki/renew.js")],
});

const csr = defineFamily("Approves certificate signing requests of expected machines, and of no others.", {
  approve: ["Approve one request by hand, despite rules that it breaks", () => import("./csr/approve.js")],
  approver: ["Watch a cluster and approve requests that keep every rule", () => import("./csr/approver.js")],
  explain: ["Go through every rule for one request", () => import("./csr/explain.js")],
  list: ["List pending requests with what an approver would do", () => import("./csr/list.js")],
});

const bootstrap = defineFamily(
  "Builds, verifies and removes the bridge that a kube-apiserver needs during bootstrap.",
  {
    analyze: ["Find the cause in a gathered archive or a log bundle", () => import("./bootstrap/analyze.js")],
    gather: ["Collect what explains the bridge, without secrets", () => import("./bootstrap/gather.js")],
    inject: ["Put the bridge into an OpenShift bootstrap.ign, or take it out", () => import("./bootstrap/inject.js")],
    render: ["Print or write every manifest, flag and unit of the bridge", () => import("./bootstrap/render.js")],
    status: ["Show the state of the bridge on this host", () => import("./bootstrap/status.js")],
    teardown: ["Take the bridge away and write a receipt", () => import("./bootstrap/teardown.js")],
    up: ["Bring the bridge up on a kubeadm or bare control plane host", () => import("./bootstrap/up.js")],
    verify: ["Verify the bridge, with a rehearsal of every webhook", () => import("./bootstrap/verify.js")],
  },
);

const firewallCommands = () => import("./firewall/command.js");
const firewall = defineFamily("Opens the firewall to the bootstrap host for agents, and closes it again.", {
  plan: [
    "Say what to open, who does it, and when to close it",
    async () => (await firewallCommands()).firewallPlanCommand,
  ],
  patch: ["Open the port in the installer's manifests", async () => (await firewallCommands()).firewallPatch],
  remove: ["Take out of the manifests what patch opened", async () => (await firewallCommands()).firewallRemove],
});

const hostedApply = () => import("./hosted/apply.js");
const hostedVerify = () => import("./hosted/verify.js");
const hosted = defineFamily("Builds the tunnel between a hosted control plane and its workers from one description.", {
  apply: ["Apply the description to both clusters", async () => (await hostedApply()).hostedApply],
  "check-connection": ["Record that the kube-apiserver is reached", () => import("./hosted/check-connection.js")],
  delete: ["Remove everything that apply made", async () => (await hostedApply()).hostedDelete],
  diff: ["Show what apply would change", async () => (await hostedApply()).hostedDiff],
  render: ["Print or write every object and patch", () => import("./hosted/render.js")],
  status: ["Show servers, agents, certificates and conditions", async () => (await hostedVerify()).hostedStatus],
  verify: ["Verify logs, webhooks and aggregated APIs", async () => (await hostedVerify()).hostedVerify],
});

const ignition = defineFamily("Checks, merges, shows, compares and serves Ignition configs of spec 3.0 to 3.5.", {
  diff: ["Show what differs between two payloads, secrets hidden", () => import("./ignition/diff.js")],
  merge: ["Merge configs, each over the ones before it", () => import("./ignition/merge.js")],
  preview: ["Show a payload as a tree of files, secrets hidden", () => import("./ignition/preview.js")],
  serve: ["Serve payloads to booting machines, each for its token", () => import("./ignition/serve.js")],
  validate: ["Find everything that is wrong with configs", () => import("./ignition/validate.js")],
});

const nodepool = defineFamily("Manages pools of machines: their configuration, tokens and user data.", {
  apply: ["Apply pools and their cluster from a file", () => import("./nodepool/apply.js")],
  controller: ["Run the controller of pools", () => import("./nodepool/controller.js")],
  install: ["Install NodePools in a cluster without HyperShift", () => import("./nodepool/install.js")],
  status: ["Show the state of pools", () => import("./nodepool/status.js")],
});

const workers = defineFamily("Makes machines that become nodes of a pool, and records which to expect.", {
  adopt: ["Make workers of nodes that are there already", () => import("./workers/adopt.js")],
  controller: [
    "Keep the machines of pools as spec.replicas and autoRepair say",
    () => import("./workers/controller.js"),
  ],
  create: ["Make user data, records and machines for a pool", () => import("./workers/create.js")],
  delete: ["Remove workers and their records", () => import("./workers/delete.js")],
  doctor: ["Find, and fix, what keeps machines from becoming nodes", () => import("./workers/doctor.js")],
  list: ["List workers, and those whose configuration is outdated", () => import("./workers/list.js")],
  replace: ["Replace workers by new machines, drained first", () => import("./workers/replace.js")],
  scale: ["Scale a pool up or down, with draining", () => import("./workers/scale.js")],
  up: ["Bring a pool up to nodes that run pods", () => import("./workers/up.js")],
  userdata: ["Print a worker's user data with the current token", () => import("./workers/userdata.js")],
  verify: ["Verify that workers run pods", () => import("./workers/verify.js")],
});

const version = defineCommand({
  purpose: "Prints the version of drawbridge, the commit it was built from, and the Node and the platform it runs on.",
  examples: ["drawbridge version", "drawbridge version --output json"],
  run: async () => versionFacts(),
  show: () => versionText("drawbridge"),
});

/** HyperShift's proxies end with 1 whatever is wrong, and so do these, by whatever name they are called. */
const withMisuse = (misuse: number, command: Runnable): Runnable => ({
  ...command,
  run: (program, argv) => command.run(program, argv, misuse),
});

const konnectivity = () => import("./tunnel/konnectivity.js");
export const drawbridge = defineFamily(
  `Lets a Kubernetes control plane reach networks it has no route to.

For a tunnel: server beside whoever calls, agent in the network to be reached, pki for their certificates. Built on it: bootstrap for the time in which a cluster is installed, hosted and sidecar for hosted control planes, nodepool, workers, csr and ignition for machines. To watch it: status, top, page, or the page of an admin port. Before an agent's host is taken down: drain. When it does not work: doctor, explain, trace. Commands end with 0, with 1 when they failed, with 2 when they were called wrongly.`,
  {
    agent: ["Dial proxy-servers and open connections for them (proxy-agent)", () => import("./tunnel/agent.js")],
    bootstrap: ["Build, verify and remove the bridge that an installation needs", async () => bootstrap],
    completion: ["Print the completion script of bash, zsh or fish", () => import("./completion/command.js")],
    csr: ["Decide the certificate signing requests of machines", async () => csr],
    doctor: ["Find what keeps drawbridge from working here", () => import("./insight/doctor.js")],
    drain: ["Let a server prefer other agents to one", () => import("./insight/drain.js")],
    explain: ["Say which agent would carry a dial, and why", () => import("./insight/explain.js")],
    firewall: ["Open the firewall for the bridge, and close it again", async () => firewall],
    hosted: ["Build the tunnel of a hosted control plane in both clusters", async () => hosted],
    ignition: ["Check, merge, show, compare and serve Ignition configs", async () => ignition],
    "konnectivity-https-proxy": [
      "Serve the sidecar's HTTP proxy under HyperShift's name and flags",
      async () => withMisuse(1, (await konnectivity()).httpsProxyCommand),
    ],
    "konnectivity-socks5-proxy": [
      "Serve the sidecar's SOCKS5 proxy under HyperShift's name and flags",
      async () => withMisuse(1, (await konnectivity()).socks5ProxyCommand),
    ],
    nodepool: ["Manage pools of machines: configuration, tokens, user data", async () => nodepool],
    page: ["Show bridge, pools, claims and requests in a browser", () => import("./insight/page.js")],
    pki: ["Make, renew and explain certificates", async () => pki],
    server: ["Take connections and hand them to agents (proxy-server)", () => import("./tunnel/server.js")],
    sidecar: ["Serve SOCKS5 and HTTP proxies into the tunnel", () => import("./tunnel/sidecar.js")],
    "simulate-node": ["Simulate a machine's first boot in a directory", () => import("./ignition/simulate-node.js")],
    status: ["Say whether a running process is healthy", () => import("./insight/status.js")],
    support: ["Write one archive for a support case, without secrets", () => import("./insight/support.js")],
    top: ["Show a running process on the terminal", () => import("./insight/top.js")],
    trace: ["Dial once through the real path and time each step", () => import("./insight/trace.js")],
    version: ["Print version, commit, Node and platform", async () => version],
    workers: ["Make machines that become nodes of a pool", async () => workers],
  },
);
