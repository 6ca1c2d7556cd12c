import type { ControlPlane, Entrance } from "./control-plane.js";
import { LabProcess } from "./process.js";
import { run } from "./run.js";
import type { Scope } from "./scope.js";

const PORT = 10259;

export async function startScheduler(
  scope: Scope,
  plane: ControlPlane,
  { executable, entrance = plane }: { readonly executable: string; readonly entrance?: Entrance },
): Promise<void> {
  const { netns } = entrance.admin;
  const kubeconfig = plane.kubeconfig("system:kube-scheduler", undefined, entrance.api);
  const scheduler = LabProcess.start(scope, {
    name: "kube-scheduler",
    netns,
    command: [executable, `--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--bind-address=127.0.0.1"],
  });
  await scheduler.ready("healthy", 120_000, async () => {
    const answer = await run(["curl", "-sk", "--max-time", "2", `https://127.0.0.1:${PORT}/healthz`], { netns });
    return answer.stdout === "ok";
  });
}
