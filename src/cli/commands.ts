/** Every command of drawbridge: what it is called, what it does in a line, and the file it is in. */
import { defineCommand, type Runnable, VERSION } from "./framework/define.js";
import { defineFamily } from "./framework/family.js";

type Load = () => Promise<Runnable>;
const command = (summary: string, load: Load) => ({ summary, load });

/** HyperShift's proxies end with 1 whatever is wrong, and so do these, by whatever name they are called. */
const withMisuse = (misuse: number, { run }: Runnable): Runnable => ({
  run: (program, argv) => run(program, argv, misuse),
});

const pki = defineFamily({
  purpose: "Makes, renews and explains the certificates of servers and agents.",
  commands: {
    init: command(
      "Make a signer and all certificates of a bridge or a hosted control plane",
      async () => (await import("./pki/init.js")).pkiInit,
    ),
    inspect: command(
      "Say what certificates are, what is wrong with them and what to do",
      async () => (await import("./pki/inspect.js")).pkiInspect,
    ),
    issue: command(
      "Issue one more certificate with a kept signer key",
      async () => (await import("./pki/issue.js")).pkiIssue,
    ),
    renew: command(
      "Issue again what is about to expire, with a kept signer key",
      async () => (await import("./pki/renew.js")).pkiRenew,
    ),
  },
});

const csr = defineFamily({
  purpose: "Approves certificate signing requests of machines that are expected, and of no others.",
  commands: {
    approve: command(
      "Approve one request by hand, naming the rules that may be broken",
      async () => (await import("./csr/approve.js")).csrApprove,
    ),
    approver: command(
      "Watch a cluster and approve what is in order",
      async () => (await import("./csr/approver.js")).csrApprover,
    ),
    explain: command(
      "Go through every rule for one request",
      async () => (await import("./csr/explain.js")).csrExplain,
    ),
    list: command(
      "List pending requests with what an approver would do",
      async () => (await import("./csr/list.js")).csrList,
    ),
  },
});

const bootstrap = defineFamily({
  purpose: "Builds the bridge that a kube-apiserver needs for the hour of bootstrap, verifies it and takes it away.",
  commands: {
    analyze: command(
      "Name the cause in an archive of gather or in an installer's log bundle",
      async () => (await import("./bootstrap/analyze.js")).bootstrapAnalyze,
    ),
    gather: command(
      "Collect everything that explains the bridge into one archive, without secrets",
      async () => (await import("./bootstrap/gather.js")).bootstrapGather,
    ),
    inject: command(
      "Put the bridge into an OpenShift bootstrap.ign, check it, or take it out",
      async () => (await import("./bootstrap/inject.js")).bootstrapInject,
    ),
    render: command(
      "Print or write every manifest, flag and unit of the bridge",
      async () => (await import("./bootstrap/render.js")).bootstrapRender,
    ),
    status: command(
      "Show the state of the bridge on this host",
      async () => (await import("./bootstrap/status.js")).bootstrapStatus,
    ),
    teardown: command(
      "Take the bridge away and write a receipt",
      async () => (await import("./bootstrap/teardown.js")).bootstrapTeardown,
    ),
    up: command(
      "Bring the bridge up on this host of a kubeadm or bare control plane",
      async () => (await import("./bootstrap/up.js")).bootstrapUp,
    ),
    verify: command(
      "Verify that the bridge works, up to a rehearsal of every webhook through it",
      async () => (await import("./bootstrap/verify.js")).bootstrapVerify,
    ),
  },
});

const firewall = defineFamily({
  purpose: "Lets agents through to the bootstrap host, and nobody for longer than the bootstrap takes.",
  commands: {
    plan: command(
      "Say what to open, who does it and when, and how it is closed again",
      async () => (await import("./firewall/command.js")).firewallPlan,
    ),
    patch: command(
      "Open the port in the installer's manifests before create cluster",
      async () => (await import("./firewall/command.js")).firewallPatch,
    ),
    remove: command(
      "Take what patch opened out of the manifests again",
      async () => (await import("./firewall/command.js")).firewallRemove,
    ),
  },
});

const hosted = defineFamily({
  purpose:
    "Builds the tunnel between a hosted control plane and its workers from one description, and shows its status.",
  commands: {
    apply: command(
      "Bring both clusters in line with the description; certificates are made once and renewed when due",
      async () => (await import("./hosted/apply.js")).hostedApply,
    ),
    "check-connection": command(
      "Stamp from inside the hosted cluster that the kube-apiserver is reached (apply deploys it)",
      async () => (await import("./hosted/check-connection.js")).hostedCheckConnection,
    ),
    delete: command(
      "Remove everything that apply made, from both clusters",
      async () => (await import("./hosted/apply.js")).hostedDelete,
    ),
    diff: command("Show what apply would change", async () => (await import("./hosted/apply.js")).hostedDiff),
    render: command(
      "Print or write every object, and the patches for others' Deployments",
      async () => (await import("./hosted/render.js")).hostedRender,
    ),
    status: command(
      "Show servers, agents, certificates and HyperShift's conditions; only reads",
      async () => (await import("./hosted/verify.js")).hostedStatus,
    ),
    verify: command(
      "Verify that logs, webhooks and aggregated APIs come through the tunnel",
      async () => (await import("./hosted/verify.js")).hostedVerify,
    ),
  },
});

const ignition = defineFamily({
  purpose: "Checks, merges, shows, compares and serves Ignition configs of spec 3.0 to 3.5 by Ignition's own rules.",
  commands: {
    diff: command(
      "Show what differs between two payloads: files, units, contents; secrets hidden",
      async () => (await import("./ignition/diff.js")).ignitionDiff,
    ),
    merge: command(
      "Merge configs, each over the ones before it, and print the result as spec 3.2",
      async () => (await import("./ignition/merge.js")).ignitionMerge,
    ),
    preview: command(
      "Show a payload as a tree of files with units and certificate expiry; secrets hidden",
      async () => (await import("./ignition/preview.js")).ignitionPreview,
    ),
    serve: command(
      "Serve payloads to booting machines, each for its token, and record who came",
      async () => (await import("./ignition/serve.js")).ignitionServe,
    ),
    validate: command(
      "Say everything that is wrong with configs, before a machine refuses to boot",
      async () => (await import("./ignition/validate.js")).ignitionValidate,
    ),
  },
});

const nodepool = defineFamily({
  purpose: "Looks after pools of machines: their configuration, the tokens that open it, their user data.",
  commands: {
    apply: command(
      "Apply pools and their cluster from a file to a cluster or a directory",
      async () => (await import("./nodepool/apply.js")).nodepoolApply,
    ),
    controller: command(
      "Keep the Secrets and the status of pools as their objects say",
      async () => (await import("./nodepool/controller.js")).nodepoolController,
    ),
    install: command(
      "Install the NodePool resource, the controller and the CSR approver in a cluster without HyperShift",
      async () => (await import("./nodepool/install.js")).nodepoolInstall,
    ),
    status: command("Show the state of pools", async () => (await import("./nodepool/status.js")).nodepoolStatus),
  },
});

const workers = defineFamily({
  purpose: "Makes user data for machines that become nodes, makes the machines, and remembers which to expect.",
  commands: {
    create: command(
      "Bring a pool to a number of workers: user data, records, machines",
      async () => (await import("./workers/create.js")).workersCreate,
    ),
    delete: command(
      "Remove workers and what is remembered of them",
      async () => (await import("./workers/delete.js")).workersDelete,
    ),
    doctor: command(
      "Find what keeps machines from becoming nodes, and fix what can be fixed",
      async () => (await import("./workers/doctor.js")).workersDoctor,
    ),
    list: command(
      "List workers, and those whose configuration is behind their pool's",
      async () => (await import("./workers/list.js")).workersList,
    ),
    replace: command(
      "Replace workers by new machines, drained first",
      async () => (await import("./workers/replace.js")).workersReplace,
    ),
    scale: command(
      "Bring a pool to another number of workers, drained first",
      async () => (await import("./workers/scale.js")).workersScale,
    ),
    up: command(
      "From a declared pool to nodes that run pods; can be killed and resumed",
      async () => (await import("./workers/up.js")).workersUp,
    ),
    userdata: command(
      "Print a worker's user data with today's token",
      async () => (await import("./workers/userdata.js")).workersUserdata,
    ),
    verify: command(
      "Say whether workers run pods, and what is missing where",
      async () => (await import("./workers/verify.js")).workersVerify,
    ),
  },
});

export const version = defineCommand({
  purpose: "Prints the version.",
  run: async () => ({ version: VERSION }),
  show: (result) => `drawbridge ${result.version}\n`,
});

export const drawbridge = defineFamily({
  purpose: `Lets a Kubernetes control plane reach networks it has no route to.

For a tunnel: server beside whoever calls, agent in the network to be reached, pki for their certificates. Built on it: bootstrap for the time in which a cluster is installed, hosted and sidecar for hosted control planes, nodepool, workers, csr and ignition for machines. To watch it: top, page, or the page of an admin port. When it does not work: doctor, explain, trace. Commands end with 0, with 1 when they failed, with 2 when they were called wrongly.`,
  commands: {
    agent: command(
      "Dial out to proxy-servers and open connections for them (proxy-agent)",
      async () => (await import("./tunnel/agent.js")).agentCommand,
    ),
    bootstrap: command(
      "Build, verify and remove the bridge that a kube-apiserver needs while its cluster is installed",
      async () => bootstrap,
    ),
    csr: command(
      "Decide the certificate requests of machines: approve those of expected machines, and no others",
      async () => csr,
    ),
    doctor: command(
      "Find what keeps a bridge from working here, and say what to do",
      async () => (await import("./insight/doctor.js")).doctorCommand,
    ),
    explain: command(
      "Say which agent would carry a dial, and why",
      async () => (await import("./insight/explain.js")).explainCommand,
    ),
    firewall: command(
      "Say what the network must let through for the bridge, open it and close it again",
      async () => firewall,
    ),
    hosted: command(
      "Build the tunnel of a hosted control plane in both clusters, and show its status",
      async () => hosted,
    ),
    ignition: command(
      "Check, merge, show, compare and serve what machines get at their first boot",
      async () => ignition,
    ),
    "konnectivity-https-proxy": command("Serve the sidecar's HTTP proxy under HyperShift's name and flags", async () =>
      withMisuse(1, (await import("./tunnel/konnectivity.js")).httpsProxyCommand),
    ),
    "konnectivity-socks5-proxy": command(
      "Serve the sidecar's SOCKS5 proxy under HyperShift's name and flags",
      async () => withMisuse(1, (await import("./tunnel/konnectivity.js")).socks5ProxyCommand),
    ),
    nodepool: command("Look after pools of machines: their configuration, tokens and user data", async () => nodepool),
    page: command(
      "Show the bridge, pools, claims and certificate requests in a browser",
      async () => (await import("./insight/page.js")).pageCommand,
    ),
    pki: command("Make, renew and explain the certificates of servers and agents", async () => pki),
    server: command(
      "Take connections from an API server and hand them to agents (proxy-server)",
      async () => (await import("./tunnel/server.js")).serverCommand,
    ),
    sidecar: command(
      "Serve SOCKS5 and HTTP proxies whose connections go through the tunnel",
      async () => (await import("./tunnel/sidecar.js")).sidecarCommand,
    ),
    "simulate-node": command(
      "Play a machine's first boot with its user data, into a directory",
      async () => (await import("./ignition/simulate-node.js")).simulateNode,
    ),
    support: command(
      "Write one archive for whoever is to help, without secrets",
      async () => (await import("./insight/support.js")).supportCommand,
    ),
    top: command("Show a running process on the terminal", async () => (await import("./insight/top.js")).topCommand),
    trace: command(
      "Dial once through the real path and say where the time went",
      async () => (await import("./insight/trace.js")).traceCommand,
    ),
    version: command("Print the version", async () => version),
    workers: command("Make machines that become nodes of a pool, and remember which to expect", async () => workers),
  },
});
