/** A host, a cluster and the commands between them, for tests. */
import type { Topology } from "../../model/names.js";
import type { Receipt } from "../../teardown/receipt.js";
import { type TeardownOptions, takeDown } from "../../teardown/teardown.js";
import { type BridgeStatus, bridgeStatus } from "../status.js";
import type { OpenApi } from "../step.js";
import { type BridgeUpResult, bringBridgeUp, type UpOptions } from "../up.js";
import { FakeCluster } from "./fake-cluster.js";
import { FakeHost } from "./fake-host.js";
import { Fuse, fused, fusedApi } from "./fuse.js";
import { kubeadmManifest, kubeadmManifestPath } from "./kubeadm-manifest.js";

const stateDirectory = "/var/lib/drawbridge-bootstrap";

export class TestBridge {
  readonly host: FakeHost;
  readonly cluster: FakeCluster;
  /** What `teardown` told while it went. */
  readonly reports: string[] = [];
  /** How `up` told its steps. */
  readonly steps: string[] = [];

  private constructor(host: FakeHost, cluster: FakeCluster) {
    this.host = host;
    this.cluster = cluster;
    host.hasAgents = () => cluster.hasAgents;
  }

  static async prepare(topology: Topology = "kubeadm"): Promise<TestBridge> {
    const bridge = new TestBridge(new FakeHost(), await FakeCluster.start());
    const { host } = bridge;
    for (const path of ["/etc/kubernetes/", "/run/", "/var/lib/", "/etc/systemd/system/"]) host.put(`${path}.keep`, "");
    if (topology === "kubeadm") {
      host.put(kubeadmManifestPath, kubeadmManifest);
      host.put("/etc/kubernetes/admin.conf", "");
    }
    if (topology === "bare") host.plain.push({ pid: 7, argv: ["/usr/bin/kube-apiserver", "--secure-port=6443"] });
    return bridge;
  }

  up(options: Partial<UpOptions> = {}, fuse = new Fuse()): Promise<BridgeUpResult> {
    const all = { ...defaults, ...options };
    return bringBridgeUp(fused(this.host, this.host.root, fuse), all, this.openApi(fuse), {
      starts: () => undefined,
      ends: ({ name, outcome }) => this.steps.push(`${name}: ${outcome}`),
    });
  }

  status(): Promise<BridgeStatus> {
    return bridgeStatus(this.host, { stateDirectory, kubeconfig: "", context: "", env: {} }, this.openApi());
  }

  teardown(options: Partial<TeardownOptions> = {}, fuse = new Fuse()): Promise<Receipt> {
    const all = { ...teardownDefaults, ...options };
    const report = (sentence: string) => this.reports.push(sentence);
    return takeDown(fused(this.host, this.host.root, fuse), all, this.openApi(fuse), report);
  }

  openApi(fuse = new Fuse()): OpenApi {
    return async ({ kubeconfig }) => {
      if (kubeconfig === "/broken") throw new Error("the kubeconfig /broken is broken");
      return fusedApi(this.cluster.open(), fuse);
    };
  }

  /** Starts a bare kube-apiserver again with these flags. */
  restartApiServer(...flags: string[]): void {
    this.host.plain.splice(
      this.host.plain.findIndex(({ pid }) => pid === 7),
      1,
    );
    this.host.plain.push({ pid: 7, argv: ["/usr/bin/kube-apiserver", "--secure-port=6443", ...flags] });
  }

  async close(): Promise<void> {
    await this.cluster.close();
    await this.host.remove();
  }
}

const defaults: UpOptions = {
  ...{ for: undefined, address: undefined, kubeconfig: "", context: "", apply: false, onlyThisApiServer: false },
  ...{ applyCommand: undefined, restoreCommand: undefined, ownProgram: undefined },
  ...{ stateDirectory, timeoutMs: 60_000, env: {}, validForMs: 2 * 60 * 60_000 },
};

const teardownDefaults: TeardownOptions = {
  ...{ for: undefined, kubeconfig: "", context: "", stateDirectory, timeoutMs: 60_000, force: false },
  restoreCommand: undefined,
  network: { platform: undefined, upi: false, byoNetwork: false, infraId: undefined, machineNetworks: [] },
};
