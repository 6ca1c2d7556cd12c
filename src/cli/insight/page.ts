/** `drawbridge page`: the live page for what no single process knows: the bridge, pools, claims and CSR decisions. */

import { resolve } from "node:path";
import { nextSignal } from "../../base/signals.js";
import { checkStateDirectory } from "../../cluster/bootstrap/host/record.js";
import { startOverview } from "../../insight/watch/overview/start.js";
import { policyFlags } from "../csr/shared.js";
import { inGroup, port, text, type Values } from "../flags/flag.js";
import { clusterFlags } from "../flags/kubernetes.js";
import { refused } from "../flags/parse.js";
import { defineCommand, VERSION } from "../framework/define.js";
import { objectFlags } from "../framework/objects.js";
import { print } from "../framework/output.js";
import { approverNamespaceFlag, workersFlags } from "../workers/shared.js";
import { bridgeProvider } from "./page-bridge.js";
import { clusterProviders, openClusters } from "./page-clusters.js";
import { defaultTokenFile, keepToken } from "./page-token.js";

const pageFlags = {
  ...approverNamespaceFlag,
  ...policyFlags,
  ...inGroup("kubernetes", {
    ...clusterFlags("the cluster with pools or nodes", "no cluster is asked unless --context is given"),
    directory: objectFlags.directory,
    "hosted-kubeconfig": workersFlags["hosted-kubeconfig"],
    "hosted-context": workersFlags["hosted-context"],
    namespace: text("Namespace of the pools and their Secrets.", "drawbridge"),
  }),
  inventory: text("Directory with the inventory and its claims. If empty, ConfigMaps of the namespace."),
  "decision-log": text("The approver's decision log, if it is a file of this host."),
  "state-dir": text("State directory of bootstrap up. If empty, no bridge is shown."),
  "token-file": text(
    "File with the token that the page asks for; made if it is not there. If empty, drawbridge/page-token in XDG_STATE_HOME.",
  ),
  port: port(0, "Port of the page on loopback. If 0, any that is free."),
};

type PageFlags = Values<typeof pageFlags>;

export default defineCommand({
  purpose: `Serves the live page on loopback for what no single process knows: with --state-dir the steps of the bootstrap bridge
on this host, with --kubeconfig or --directory pools, claims and the decisions about certificate requests. Changes
nothing, and asks only while somebody looks. Ends with Ctrl-C.

The flags of csr approver say by which rules a request that is still pending would be judged.

It needs: in --namespace nodepools, secrets and configmaps list; where machines join, certificatesigningrequests and nodes
list, in the approver's namespace configmaps list and get.`,
  examples: ["drawbridge page --kubeconfig admin.conf --namespace clusters"],
  flags: pageFlags,
  async run(flags) {
    check(flags);
    const tokenFile = resolve(flags.tokenFile || defaultTokenFile(process.env));
    const isNew = await keepToken(tokenFile);
    const clusters = hasCluster(flags) ? await openClusters(flags) : undefined;
    const providers = [
      ...(flags.stateDir === "" ? [] : [await bridgeProvider(flags.stateDir)]),
      ...(clusters === undefined ? [] : await clusterProviders(clusters, flags)),
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

const hasCluster = ({ context, directory, kubeconfig }: PageFlags): boolean => kubeconfig + context + directory !== "";

function check(flags: PageFlags): void {
  const { stateDir, hostedKubeconfig } = flags;
  if (!hasCluster(flags) && stateDir === "")
    throw refused("there is nothing to show: give --state-dir, --kubeconfig or --directory");
  if (hostedKubeconfig !== "" && flags.kubeconfig + flags.context === "")
    throw refused("--hosted-kubeconfig goes with --kubeconfig, the cluster of the pools");
  if (stateDir !== "") checkStateDirectory(stateDir);
}
