/** The drawbridge executable: one word names the command, the rest belongs to it. */
import { main } from "./framework/command.js";
import { type Family, MISUSE, runFamily } from "./framework/subcommands.js";
import { version } from "./framework/version.js";

const drawbridge: Family = {
  program: "drawbridge",
  purpose: `Lets a Kubernetes control plane reach networks it has no route to.

For a tunnel: server beside whoever calls, agent in the network to be reached, pki for their certificates. What stands on
it: bootstrap while a cluster is born, hosted and sidecar for hosted control planes, nodepool and its kin for machines.
To see it: top, page, or the page of an admin port. When it does not work: doctor, explain, trace. Commands end with 0, with 1 when they failed, with 2 when they were called wrongly.`,
  commands: {
    agent: {
      summary: "Dial out to proxy-servers and open connections for them (proxy-agent)",
      run: async (argv) =>
        (await import("./tunnel/agent-command.js")).agentCommand("drawbridge agent", argv, { misuse: MISUSE }),
    },
    bootstrap: {
      summary: "Build, prove and take away the bridge that a kube-apiserver needs at bootstrap",
      run: async (argv) => (await import("./bootstrap/command.js")).bootstrapCommand(argv),
    },
    csr: {
      summary: "Let expected machines become nodes, and no others: decide their certificate requests",
      run: async (argv) => (await import("./csr/command.js")).csrCommand(argv),
    },
    doctor: {
      summary: "Find what keeps a bridge from working here, and say what to do",
      run: async (argv) => (await import("./insight/doctor.js")).doctorCommand("drawbridge doctor", argv),
    },
    explain: {
      summary: "Say which agent would carry a dial, and why",
      run: async (argv) => (await import("./insight/explain.js")).explainCommand("drawbridge explain", argv),
    },
    firewall: {
      summary: "Say what the network must let through for the bridge, open it and take it away again",
      run: async (argv) => (await import("./firewall/command.js")).firewallCommand("drawbridge firewall", argv),
    },
    hosted: {
      summary: "Build the tunnel of a hosted control plane on both of its sides, and say how it stands",
      run: async (argv) => (await import("./hosted/command.js")).hostedCommand(argv),
    },
    ignition: {
      summary: "Check, merge, show and compare what machines get at their first boot",
      run: async (argv) => (await import("./ignition/command.js")).ignitionCommand(argv),
    },
    "konnectivity-https-proxy": {
      summary: "Serve the sidecar's HTTP proxy under HyperShift's name and flags",
      run: async (argv) =>
        (await import("./tunnel/konnectivity-command.js")).httpsProxyCommand(
          "drawbridge konnectivity-https-proxy",
          argv,
        ),
    },
    "konnectivity-socks5-proxy": {
      summary: "Serve the sidecar's SOCKS5 proxy under HyperShift's name and flags",
      run: async (argv) =>
        (await import("./tunnel/konnectivity-command.js")).socks5ProxyCommand(
          "drawbridge konnectivity-socks5-proxy",
          argv,
        ),
    },
    nodepool: {
      summary: "Look after pools of machines: their configuration, tokens and user data",
      run: async (argv) => (await import("./nodepool/command.js")).nodepoolCommand(argv),
    },
    page: {
      summary: "Show the bridge, pools, claims and certificate requests in a browser",
      run: async (argv) => (await import("./insight/page.js")).pageCommand("drawbridge page", argv),
    },
    pki: {
      summary: "Make, renew and explain the certificates of servers and agents",
      run: async (argv) => (await import("./pki/command.js")).pkiCommand(argv),
    },
    server: {
      summary: "Take connections from an API server and hand them to agents (proxy-server)",
      run: async (argv) =>
        (await import("./tunnel/server-command.js")).serverCommand("drawbridge server", argv, { misuse: MISUSE }),
    },
    sidecar: {
      summary: "Serve SOCKS5 and HTTP proxies whose connections go through the tunnel",
      run: async (argv) =>
        (await import("./tunnel/sidecar-command.js")).sidecarCommand("drawbridge sidecar", argv, { misuse: MISUSE }),
    },
    "simulate-node": {
      summary: "Play a machine's first boot with its user data, into a directory",
      run: async (argv) => (await import("./ignition/simulate-node.js")).simulateNode("drawbridge simulate-node", argv),
    },
    support: {
      summary: "Write one archive for whoever is to help, without secrets",
      run: async (argv) => (await import("./insight/support.js")).supportCommand("drawbridge support", argv),
    },
    top: {
      summary: "Show a running process on the terminal",
      run: async (argv) => (await import("./insight/top.js")).topCommand("drawbridge top", argv),
    },
    trace: {
      summary: "Dial once through the real path and say where the time went",
      run: async (argv) => (await import("./insight/trace.js")).traceCommand("drawbridge trace", argv),
    },
    version: { summary: "Print the version", run: printVersion },
    workers: {
      summary: "Make machines that become nodes of a pool, and remember which to expect",
      run: async (argv) => (await import("./workers/command.js")).workersCommand(argv),
    },
  },
};

async function printVersion(): Promise<number> {
  process.stdout.write(`drawbridge ${version()}\n`);
  return 0;
}

void main(async ([name, ...rest]) => {
  if (name === "--version") return printVersion();
  // Not in the list: only the pod of bootstrap verify --deploy-test-webhook runs it.
  if (name === "test-webhook") return (await import("./bootstrap/verify-test-webhook.js")).testWebhookCommand(rest);
  return runFamily(drawbridge, name === undefined ? [] : [name, ...rest]);
});
