/** The ConfigMap of a cluster, for --help. */
export const CLUSTER_HELP = `Pools belong to a cluster. Without HyperShift that is a ConfigMap beside them:

  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: demo                         # spec.clusterName of its pools
    namespace: drawbridge
    labels: {drawbridge/cluster: "true"}
  data:
    apiServer: https://api.example:6443
    apiServerCA: |                     # PEM
    ignitionEndpoint: ignition.example:22624
    ignitionCA: |                      # PEM; left out, the one of controller --issue-certificate
    version: 4.18.0                    # of the release that machines run
    pullSecret: pull-secret            # a Secret with the key .dockerconfigjson; none if left out
    # releases, arch, trustBundle, configuration, networks: see docs/nodes.md`;
