/** `drawbridge page`: the live page for what no single process knows: the bridge, pools, claims and CSR decisions. */
import { resolve } from "node:path";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import type { Provider } from "../../insight/watch/overview/source.js";
import { checkCsrFlags, declarePolicyFlags } from "../csr/flags.js";
import type { FlagSet } from "../flags/flag-set.js";
import { integer, string } from "../flags/flag-value.js";
import { type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { version } from "../framework/version.js";
import { declareHosted } from "../workers/flags.js";
import { addApproverNamespace } from "../workers/publishing.js";
import { clusterProviders, openClusters } from "./page-clusters.js";
import { defaultTokenFile, keepToken } from "./page-token.js";

type PageFlags = ReturnType<typeof declare>;

const command: PlainCommand<PageFlags> = {
  purpose: `Serves the live page on loopback for what no single process knows: with --state-dir the steps of the bootstrap bridge
on this host, with --kubeconfig or --directory pools, claims and the decisions about certificate requests. Changes
nothing, and asks only while somebody looks. Ends with Ctrl-C.

The flags of csr approver say by which rules a request that is still pending would be judged.

It needs: in --namespace nodepools, secrets and configmaps list; where machines join, certificatesigningrequests and nodes
list, in the approver's namespace configmaps list and get.`,
  declare,
  check(flags, [word]) {
    if (word !== undefined) throw refused(`${JSON.stringify(word)} belongs to no flag`);
    const { stateDirectory, port, hostedKubeconfig } = flags;
    if (!hasCluster(flags) && stateDirectory.value === "")
      throw refused("there is nothing to show: give --state-dir, --kubeconfig or --directory");
    if (hostedKubeconfig.value !== "" && flags.kubeconfig.value === "")
      throw refused("--hosted-kubeconfig goes with --kubeconfig, the cluster of the pools");
    checkCsrFlags(flags);
    if (stateDirectory.value !== "") checkStateDirectory(stateDirectory.value);
    if (port.value < 0 || port.value > 65_535) throw refused(`--port must be 0 to 65535, got ${port.value}`);
  },
  run,
};

function declare(set: FlagSet) {
  const text = (name: string, usage: string, otherwise = "") => set.add(name, string, otherwise, usage);
  return {
    kubeconfig: text("kubeconfig", "Access to the cluster with pools or nodes. If empty, none is asked."),
    hostedKubeconfig: declareHosted(set),
    directory: text("directory", "Directory of YAML objects to use instead of a cluster."),
    namespace: text("namespace", "Where pools and their Secrets are.", "drawbridge"),
    approverNamespace: addApproverNamespace(set),
    inventory: text("inventory", "Directory with the inventory and its claims. If empty, ConfigMaps."),
    decisionLog: text("decision-log", "The approver's decision log, if it is a file of this host."),
    ...declarePolicyFlags(set),
    stateDirectory: text("state-dir", "State directory of bootstrap up. If empty, no bridge is shown."),
    tokenFile: text(
      "token-file",
      "File with the token that the page asks for; made if it is not there. If empty, drawbridge/page-token in XDG_STATE_HOME.",
    ),
    port: set.add("port", integer, 0, "Port on loopback. If 0, any that is free."),
  };
}

const hasCluster = ({ kubeconfig, directory }: PageFlags): boolean => kubeconfig.value !== "" || directory.value !== "";

async function run(flags: PageFlags): Promise<number> {
  const [{ startOverview }, { nextSignal }] = await Promise.all([
    import("../../insight/watch/overview/start.js"),
    import("../../base/signals.js"),
  ]);
  const tokenFile = resolve(flags.tokenFile.value || defaultTokenFile(process.env));
  const isNew = await keepToken(tokenFile);
  const clusters = hasCluster(flags) ? await openClusters(flags) : undefined;
  const bridge = flags.stateDirectory.value === "" ? [] : [await bridgeOf(flags)];
  const providers = [...bridge, ...(clusters === undefined ? [] : await clusterProviders(clusters, flags))];
  const page = await startOverview({ port: flags.port.value, tokenFile, version: version(), providers });
  process.stdout.write(`The page is at http://${page.address}/
It asks for a token: the one line of ${tokenFile}${isNew ? ", made now" : ""}
From another machine: ssh -L ${page.port}:127.0.0.1:${page.port} THIS_HOST, then the same address. Ctrl-C ends it.
`);
  await nextSignal();
  await page.close();
  clusters?.close();
  return 0;
}

async function bridgeOf({ stateDirectory }: PageFlags): Promise<Provider> {
  const { bridgeProvider } = await import("./page-bridge.js");
  return bridgeProvider(stateDirectory.value);
}

export const pageCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
