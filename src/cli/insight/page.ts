/** `drawbridge page`: the live page for what no single process knows: the bridge, pools, claims and CSR decisions. */

import { resolve } from "node:path";
import { messageOf } from "../../base/errors/error.js";
import { nextSignal } from "../../base/signals.js";
import { plainText } from "../../base/text.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { configMapInventory, withClaimsOf } from "../../cluster/nodes/csr/inventory.js";
import { type AdminHere, adminsHere } from "../../insight/diagnosis/host/admin-here.js";
import { bridgeProvider } from "../../insight/watch/overview/bridge.js";
import { decisionsProvider } from "../../insight/watch/overview/decisions.js";
import { type FactProvider, startOverview } from "../../insight/watch/overview/overview.js";
import { claimsProvider, poolsProvider } from "../../insight/watch/overview/pools.js";
import { defaultTokenFile, keepToken } from "../../insight/watch/overview/token.js";
import { openAccess, policyFlags, policyOf } from "../csr/shared.js";
import { filePath, inGroup, port, type Values } from "../flags/flag.js";
import { clusterFlags, hostedCluster } from "../flags/kubernetes.js";
import { missing, refused } from "../flags/parse.js";
import { defineCommand, VERSION } from "../framework/define.js";
import { namespaceFlag, objectFlags, openObjects } from "../framework/objects.js";
import { print } from "../framework/output.js";
import { openOwnPort } from "../tunnel/admin-port.js";
import { approverNamespaceFlag, approverNamespaceOf, workersFlags } from "../workers/shared.js";
import { statusOf, statusText } from "./status.js";

const pageFlags = {
  ...approverNamespaceFlag,
  ...policyFlags,
  ...inGroup("kubernetes", {
    ...clusterFlags("the cluster with pools or nodes", "no cluster is asked unless --context is given"),
    directory: objectFlags.directory,
    "hosted-kubeconfig": workersFlags["hosted-kubeconfig"],
    "hosted-context": workersFlags["hosted-context"],
  }),
  ...namespaceFlag("Namespace of the pools and their Secrets."),
  inventory: filePath("Directory with the inventory and its claims. If empty, ConfigMaps of the namespace."),
  "decision-log": filePath("The approver's decision log, if it is a file of this host."),
  "state-dir": filePath("State directory of bootstrap up. If empty, no bridge is shown."),
  "token-file": filePath(
    "File with the token that the page asks for; made if it is not there. If empty, drawbridge/page-token in XDG_STATE_HOME.",
  ),
  port: port(0, "Port of the page on loopback. If 0, any that is free."),
};

type PageFlags = Values<typeof pageFlags>;

export default defineCommand({
  purpose: `Serves the live page on loopback for what no single process knows: with --state-dir the steps of the bootstrap bridge
on this host, with --kubeconfig or --directory pools, claims and the decisions about certificate requests. Changes
nothing, and asks only while a browser shows the page. Ends with Ctrl-C.

Without any of these it says where the page of each server, agent or sidecar is that runs here, where its token is, and
whether it is healthy, as drawbridge status does.

The flags of csr approver say by which rules a request that is still pending would be judged.

It needs: in --namespace nodepools, secrets and configmaps list; where machines join, certificatesigningrequests and nodes
list, in the approver's namespace configmaps list and get.`,
  examples: ["drawbridge page", "drawbridge page --kubeconfig admin.conf --namespace clusters"],
  flags: pageFlags,
  async run(flags) {
    if (!hasCluster(flags) && flags.stateDir === "") return await ownPage(flags);
    check(flags);
    const tokenFile = resolve(flags.tokenFile || defaultTokenFile(process.env));
    const isNew = await keepToken(tokenFile);
    const clusters = hasCluster(flags) ? await openClusters(flags) : undefined;
    const providers = [
      ...(flags.stateDir === "" ? [] : [await bridgeProvider(flags.stateDir)]),
      ...(clusters === undefined ? [] : clusterProviders(clusters, flags)),
    ];
    const page = await startOverview({ port: flags.port, tokenFile, version: VERSION, providers });
    print(`The page is at http://${page.address}/
It asks for a token: the one line of ${tokenFile}${isNew ? ", made now" : ""}
From another machine: ssh -L ${page.port}:127.0.0.1:${page.port} THIS_HOST, then the same address. Ctrl-C ends it.
`);
    await nextSignal();
    await page.close();
    clusters?.close();
    return 0;
  },
});

/** Every process with an admin port serves its own page. */
async function ownPage({ tokenFile }: PageFlags): Promise<number> {
  const here = (await adminsHere()).filter((each) => each.tokenFile !== undefined);
  if (here.length === 0)
    throw missing(
      "there is nothing to show: give --state-dir, --kubeconfig or --directory, or start a server or agent with --admin-token-file",
    );
  const health = await Promise.all(here.map(healthText));
  here.forEach(({ pid, title, url, tokenFile: file }, at) => {
    print(`The page of the ${title} ${pid} is at ${url}/\nIt asks for a token: the one line of ${tokenFile || file}\n`);
    print(`${health[at]}${at < here.length - 1 ? "\n" : ""}`);
  });
  return 0;
}

/** As drawbridge status says it. */
async function healthText(here: AdminHere): Promise<string> {
  try {
    return statusText(await statusOf(await openOwnPort(here)));
  } catch (reason) {
    return `It could not be asked how it is: ${plainText(messageOf(reason))}\n`;
  }
}

const hasCluster = ({ context, directory, kubeconfig }: PageFlags): boolean => kubeconfig + context + directory !== "";

function check(flags: PageFlags): void {
  const { stateDir, hostedKubeconfig } = flags;
  if (hostedKubeconfig !== "" && flags.kubeconfig + flags.context === "")
    throw refused("--hosted-kubeconfig goes with --kubeconfig, the cluster of the pools");
  if (stateDir !== "") checkStateDirectory(stateDir);
}

/** The cluster of the pools and, where that is another one, the cluster that machines join. */
export async function openClusters(flags: PageFlags) {
  const hosted = hostedCluster(flags);
  const namespace = approverNamespaceOf(flags);
  if (hosted === undefined) {
    const nodes = await openAccess(flags, namespace);
    return { pools: nodes.api, nodes, close: () => nodes.api.close() };
  }
  const [joined, pools] = await Promise.all([openAccess({ ...flags, ...hosted }, namespace), openObjects(flags)]);
  const inventory = withClaimsOf(joined.inventory, configMapInventory(pools, flags.namespace));
  return {
    pools,
    nodes: { ...joined, inventory },
    close: () => {
      pools.close();
      joined.api.close();
    },
  };
}

export function clusterProviders(
  { pools, nodes }: Awaited<ReturnType<typeof openClusters>>,
  flags: PageFlags,
): FactProvider[] {
  const ofPools = flags.directory || flags.kubeconfig || flags.context;
  const ofNodes = flags.hostedKubeconfig || flags.hostedContext || ofPools;
  return [
    poolsProvider({ ...nodes, api: pools }, flags.namespace, ofPools),
    claimsProvider(nodes, flags.inventory || ofNodes),
    decisionsProvider(nodes, policyOf(flags), flags.decisionLog, ofNodes),
  ];
}
