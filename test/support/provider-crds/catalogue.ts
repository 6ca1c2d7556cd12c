/** Cluster API providers whose real resource definitions judge the manifests that drawbridge changes. */
export interface ProviderCrd {
  readonly module: string;
  readonly version: string;
  /** Inside the module. */
  readonly file: string;
}

const crd = (module: string, version: string, plural: string): ProviderCrd => ({
  module: `sigs.k8s.io/${module}`,
  version,
  file: `config/crd/bases/infrastructure.cluster.x-k8s.io_${plural}.yaml`,
});

export const providerCrds = {
  AWSCluster: crd("cluster-api-provider-aws/v2", "v2.10.0", "awsclusters"),
  AzureCluster: crd("cluster-api-provider-azure", "v1.23.0", "azureclusters"),
  IBMVPCCluster: crd("cluster-api-provider-ibmcloud", "v0.12.0", "ibmvpcclusters"),
  IBMPowerVSCluster: crd("cluster-api-provider-ibmcloud", "v0.12.0", "ibmpowervsclusters"),
} as const satisfies Record<string, ProviderCrd>;

export type ProviderKind = keyof typeof providerCrds;

/** What a hosted control plane is published by on OpenShift. */
export const routeCrd: ProviderCrd = {
  module: "github.com/openshift/api",
  version: "v0.0.0-20251015095338-264e80a2b6e7",
  file: "route/v1/zz_generated.crd-manifests/routes.crd.yaml",
};
