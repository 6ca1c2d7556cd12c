import type { Kubectl } from "../lab/kubectl.js";
import { until } from "../lab/wait.js";

/** Lets a cluster know Routes, by their real definition, whose schema allows a null that kubectl's own check does not. */
export async function installRoutes(admin: Kubectl, definition: object): Promise<void> {
  await admin.run(["apply", "--server-side", "--validate=false", "-f", "-"], JSON.stringify(definition));
  await admin.run(["wait", "--for=condition=Established", "--timeout=60s", "crd/routes.route.openshift.io"]);
  // Clients learn which kinds there are from the discovery document, which follows a moment later.
  await until("Routes to be discovered", 60_000, async () => {
    return (await admin.raw("/apis/route.openshift.io/v1")).includes('"routes"');
  });
}
