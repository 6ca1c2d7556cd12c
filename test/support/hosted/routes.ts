import type { Kubectl } from "../lab/kubectl.js";

/** Lets a cluster know Routes, by their real definition, whose schema allows a null that kubectl's own check does not. */
export async function installRoutes(admin: Kubectl, definition: object): Promise<void> {
  await admin.run(["apply", "--server-side", "--validate=false", "-f", "-"], JSON.stringify(definition));
  await admin.run(["wait", "--for=condition=Established", "--timeout=30s", "crd/routes.route.openshift.io"]);
}
