/**
 * A script with the outline of the installer's bootkube.sh, made from rules: the same stages in the same order with the
 * same marker files, and the lines that injections are tied to. It runs, given a `podman` that plays the containers.
 */
import type { Shape } from "./releases.js";

const CONFIG = "/etc/kubernetes/bootstrap-configs";

export function bootkubeScript(shape: Shape): string {
  const { sources, inPlace, integration } = shape;
  const integrated = integration !== "none";
  return [
    "#!/usr/bin/env bash",
    "set -euoE pipefail",
    "",
    ...(sources.includes("service-record") ? [". /usr/local/bin/bootstrap-service-record.sh", ""] : []),
    ". /usr/local/bin/release-image.sh",
    ...(sources.includes("cluster-gather") ? [". /usr/local/bin/bootstrap-cluster-gather.sh"] : []),
    ...(sources.includes("verify-api-server-urls") ? [". /usr/local/bin/bootstrap-verify-api-server-urls.sh"] : []),
    ...(integrated ? [". /usr/local/bin/konnectivity.sh"] : []),
    "",
    "mkdir --parents /etc/kubernetes/{manifests,bootstrap-configs,bootstrap-manifests}",
    ...(inPlace === "unknown" ? [] : [`BOOTSTRAP_INPLACE=${inPlace}`]),
    'VERSION=0.0.1 KUBERNETES_VERSION=1.0.0 ETCD_ENDPOINTS="" ADDITIONAL_FLAGS=()',
    "",
    "contained() {",
    `\tpodman run --quiet --net=host --rm "\${@}"`,
    "}",
    "",
    "OPERATOR_IMAGE=$(image_for cluster-kube-apiserver-operator)",
    "CLUSTER_BOOTSTRAP_IMAGE=$(image_for cluster-bootstrap)",
    "mkdir --parents ./{bootstrap-manifests,manifests}",
    "",
    ...stage(shape, "openshift-manifests", ["cp openshift/* manifests/"]),
    ...["cvo-bootstrap", "etcd-bootstrap"].flatMap((name) =>
      stage(shape, name, [`contained "\${OPERATOR_IMAGE}" ${name}`]),
    ),
    ...(integrated ? ["konnectivity_setup", ""] : []),
    ...stage(shape, "kube-apiserver-bootstrap", apiServerStage(shape)),
    ...["kube-controller-manager-bootstrap", "kube-scheduler-bootstrap", "mco-bootstrap", "cco-bootstrap"].flatMap(
      (name) => stage(shape, name, [`contained "\${OPERATOR_IMAGE}" ${name}`]),
    ),
    ...(integrated ? ["konnectivity_manifests", ""] : []),
    ...clusterBootstrap(shape),
    ...(integrated ? ["konnectivity_cleanup", ""] : []),
    "# Workaround for a bug of runc with exec after exit",
    "touch /opt/openshift/.bootkube.done",
    'echo "bootkube.service complete"',
    "",
  ].join("\n");
}

/** Bodies are indented with tabs, the bookkeeping around them with spaces, as the original has grown. */
function stage({ sources }: Shape, name: string, body: readonly string[]): string[] {
  const recorded = sources.includes("service-record");
  return [
    `if [ ! -f ${name}.done ]`,
    "then",
    ...(recorded ? [`    record_service_stage_start "${name}"`] : []),
    `\techo "Working on ${name}..."`,
    ...body.map((line) => `\t${line}`),
    `\ttouch ${name}.done`,
    ...(recorded ? ["    record_service_stage_success"] : []),
    "fi",
    "",
  ];
}

function apiServerStage({ lastArgument, integration }: Shape): string[] {
  const on = integration === "on";
  return [
    "rm --recursive --force kube-apiserver-bootstrap",
    "contained \\",
    "\t--name kube-apiserver-render \\",
    '\t--volume "$PWD:/assets:z" \\',
    `\t"\${OPERATOR_IMAGE}" \\`,
    "\t/usr/bin/cluster-kube-apiserver-operator render \\",
    `\t--manifest-etcd-server-urls="\${ETCD_ENDPOINTS}" \\`,
    "\t--asset-input-dir=/assets/tls \\",
    "\t--asset-output-dir=/assets/kube-apiserver-bootstrap \\",
    `\t${lastArgument}`,
    ...(on ? ["\t--config-override-files=/assets/konnectivity-config-override.yaml"] : []),
    "",
    `cp kube-apiserver-bootstrap/config ${CONFIG}/kube-apiserver-config.yaml`,
    ...(on ? [`cp /opt/openshift/egress-selector-config.yaml ${CONFIG}/egress-selector-config.yaml`] : []),
  ];
}

function clusterBootstrap({ requiredPods, sources }: Shape): string[] {
  const recorded = sources.includes("service-record");
  const pods = "openshift-kube-apiserver/kube-apiserver,openshift-cluster-version/cluster-version-operator";
  return [
    ...(requiredPods
      ? [`REQUIRED_PODS="${pods}"`, 'if [ "$BOOTSTRAP_INPLACE" = true ]', "then", '    REQUIRED_PODS=""', "fi", ""]
      : []),
    'echo "Starting cluster-bootstrap..."',
    "if [ ! -f cb-bootstrap.done ]",
    "then",
    ...(recorded ? ['    record_service_stage_start "cb-bootstrap"'] : []),
    "    contained \\",
    '        --volume "$PWD:/assets:z" \\',
    `        "\${CLUSTER_BOOTSTRAP_IMAGE}" \\`,
    `        start --asset-dir=/assets --required-pods="${requiredPods ? "$REQUIRED_PODS" : pods}"`,
    "    touch cb-bootstrap.done",
    ...(recorded ? ["    record_service_stage_success"] : []),
    "fi",
    "",
  ];
}
