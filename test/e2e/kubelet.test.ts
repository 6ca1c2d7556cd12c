/** kubectl logs, exec and port-forward against a real kubelet that the control plane can reach through the tunnel only. */
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cluster, makeCluster } from "../support/lab/cluster.js";
import { equipped } from "../support/lab/equipment.js";
import { rejectTcp } from "../support/lab/firewall.js";
import { connectOverTcp, connectOverUds, grpcOverUds } from "../support/lab/frontends.js";
import { metric } from "../support/lab/metrics.js";
import { startFirstNode, startPodOnFirstNode } from "../support/lab/node/first-node.js";
import { GREETING } from "../support/lab/node/image.js";
import { KUBELET_PORT } from "../support/lab/node/node.js";
import { LabProcess } from "../support/lab/process.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import { must, run } from "../support/lab/run.js";
import { address } from "../support/lab/topology.js";
import { until } from "../support/lab/wait.js";

const POD = "talker";
const LAST_WORDS = "the pod is up";
const LOG_LINES = 20_000;
const LOCAL_PORT = 18_080;
const SCRIPT =
  `i=0; while [ $i -lt ${LOG_LINES} ]; do i=$((i+1)); echo line $i; done; ` +
  `echo ${LAST_WORDS}; exec httpd -f -p 8080 -h /www`;

const ready = await equipped({ controlPlane: true, namespaces: true, node: true });

describe.skipIf(!ready)("a real kubelet behind the tunnel", () => {
  let cluster: Cluster;
  const dialsDone = async () => metric(await cluster.server.metrics(), `${SERVER_METRIC}_dial_duration_seconds_count`);

  beforeAll(async () => {
    cluster = await makeCluster({ admitServiceAccounts: true });
    const { topology, connect } = cluster;
    await connect(grpcOverUds);
    await startFirstNode(cluster);
    await rejectTcp(topology.bs, address.n1, KUBELET_PORT);
    await startPodOnFirstNode(cluster, POD, SCRIPT, {
      readinessProbe: { httpGet: { port: 8080, path: "/" }, periodSeconds: 1 },
    });
  });
  afterAll(() => cluster?.scope.close());

  test("N1: the control plane's own connections to the kubelet are refused", async () => {
    const url = `https://${address.n1}:${KUBELET_PORT}/healthz`;
    const curl = ["curl", "-skS", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}", url];
    expect((await run(curl, { netns: cluster.topology.bs })).code).toBe(7);
    // The kubelet itself is well: from its own host it answers, and asks for credentials.
    expect((await run(curl, { netns: cluster.topology.n1 })).stdout).toBe("401");
  });

  describe.each([grpcOverUds, connectOverUds, connectOverTcp])("K5 through $title", (frontend) => {
    beforeAll(() => cluster.connect(frontend));

    test("kubectl logs shows every line the pod wrote", async () => {
      const before = await dialsDone();
      const lines = (await cluster.admin.run(["logs", POD])).trimEnd().split("\n");
      expect(lines).toHaveLength(LOG_LINES + 1);
      expect(lines.slice(0, -1).every((line, index) => line === `line ${index + 1}`)).toBe(true);
      expect(lines.at(-1)).toBe(LAST_WORDS);
      expect(await dialsDone()).toBeGreaterThan(before);
    });

    test("kubectl exec carries output, errors, exit code and a large input", async () => {
      const shell = ["exec", "-i", POD, "--", "sh", "-c"];
      const spoken = await cluster.admin.try([...shell, "echo out; echo err >&2; exit 7"]);
      expect(spoken).toMatchObject({ code: 7, stdout: "out\n" });
      expect(spoken.stderr).toContain("err\n");
      const input = randomBytes(1024 * 1024).toString("hex");
      const sum = createHash("sha256").update(input).digest("hex");
      expect(await cluster.admin.run([...shell, "sha256sum"], input)).toBe(`${sum}  -\n`);
      expect(await cluster.admin.run([...shell, "cat"], input)).toBe(input);
    });

    test("kubectl port-forward reaches a port of the pod, more than once", async () => {
      const { admin, scope, topology } = cluster;
      const forward = LabProcess.start(scope, {
        name: "port-forward",
        netns: topology.bs,
        command: admin.command(["port-forward", `pod/${POD}`, `${LOCAL_PORT}:8080`]),
      });
      try {
        const page = () => must(["curl", "-sS", "--max-time", "10", `http://127.0.0.1:${LOCAL_PORT}/`], where);
        const where = { netns: topology.bs };
        await until("the forwarded port", 60_000, async () => (await page()) !== "");
        for (let i = 0; i < 5; i++) expect(await page()).toBe(`${GREETING}\n`);
      } finally {
        await forward.kill();
      }
    });
  });
});
