/** Cluster manifests shaped as the installer writes them: Go's YAML, keys in order, lists not indented. */
import { stringify } from "yaml";

export const INFRA = "lab-x7k2p";
const metadata = { creationTimestamp: null, name: INFRA, namespace: "openshift-cluster-api-guests" };
const group = "infrastructure.cluster.x-k8s.io";

/** Shared parts are written out each time, as Go does; no anchors. */
const asGoWrites = (object: object): string =>
  stringify(object, { indentSeq: false, lineWidth: 0, aliasDuplicateObjects: false, sortMapEntries: true });

const awsRule = (description: string, port: number, ...roles: string[]) => ({
  description,
  fromPort: port,
  protocol: "tcp",
  sourceSecurityGroupRoles: roles,
  toPort: port,
});

export function awsCluster(options: { readonly konnectivity?: boolean; readonly rules?: "none" } = {}): string {
  const ssh = {
    cidrBlocks: ["0.0.0.0/0"],
    description: "Bootstrap SSH Access",
    fromPort: 22,
    protocol: "tcp",
    toPort: 22,
  };
  const rules = [
    awsRule("MCS traffic from cluster network", 22623, "node", "controlplane", "apiserver-lb"),
    ...(options.konnectivity ? [awsRule("Bootstrap Konnectivity", 8091, "controlplane", "node")] : []),
    ssh,
  ];
  return asGoWrites({
    apiVersion: `${group}/v1beta2`,
    kind: "AWSCluster",
    metadata,
    spec: {
      bastion: { enabled: false },
      controlPlaneEndpoint: { host: "", port: 0 },
      controlPlaneLoadBalancer: { loadBalancerType: "nlb", name: `${INFRA}-int`, scheme: "internal" },
      identityRef: { kind: "AWSClusterControllerIdentity", name: "default" },
      network: {
        ...(options.rules === "none" ? {} : { additionalControlPlaneIngressRules: rules }),
        cni: { cniIngressRules: [{ description: "ICMP", fromPort: -1, protocol: "icmp", toPort: -1 }] },
        vpc: { availabilityZoneSelection: "Ordered", availabilityZoneUsageLimit: 3, cidrBlock: "10.0.0.0/16" },
      },
      region: "us-east-2",
      s3Bucket: { name: `openshift-bootstrap-data-${INFRA}`, presignedURLDuration: "1h0m0s" },
    },
    status: { networkStatus: {}, ready: false },
  });
}

interface AzureOptions {
  readonly konnectivity?: boolean;
  readonly ownNetwork?: boolean;
  /** Priorities that are taken already, besides the installer's own. */
  readonly taken?: readonly number[];
}

export function azureCluster({ konnectivity = false, ownNetwork = false, taken = [] }: AzureOptions = {}): string {
  const rule = (name: string, priority: number, port: string) => ({
    action: "Allow",
    description: "",
    destination: "*",
    destinationPorts: port,
    direction: "Inbound",
    name,
    priority,
    protocol: "Tcp",
    source: "*",
    sourcePorts: "*",
  });
  const securityRules = [
    rule("apiserver_in", 100, "6443"),
    rule("ssh_in", 220, "22"),
    ...(konnectivity ? [rule("konnectivity_in", 230, "8091")] : []),
    ...taken.map((priority) => rule(`other_${priority}`, priority, "9000")),
  ];
  const subnet = (role: string, name: string, cidr: string) => ({
    cidrBlocks: [cidr],
    name: `${INFRA}-${name}-subnet`,
    role,
    routeTable: { name: "" },
    securityGroup: { name: `${INFRA}-nsg`, securityRules },
  });
  const id = `/subscriptions/0/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/own`;
  return asGoWrites({
    apiVersion: `${group}/v1beta1`,
    kind: "AzureCluster",
    metadata,
    spec: {
      azureEnvironment: "AzurePublicCloud",
      controlPlaneEndpoint: { host: "", port: 0 },
      identityRef: { apiVersion: `${group}/v1beta1`, kind: "AzureClusterIdentity", name: INFRA },
      location: "eastus",
      networkSpec: {
        apiServerLB: { name: `${INFRA}-internal`, type: "Internal" },
        subnets: [subnet("control-plane", "master", "10.0.0.0/17"), subnet("node", "worker", "10.0.128.0/17")],
        vnet: { cidrBlocks: ["10.0.0.0/16"], ...(ownNetwork ? { id } : {}), name: `${INFRA}-vnet` },
      },
      resourceGroup: `${INFRA}-rg`,
      subscriptionID: "00000000-0000-0000-0000-000000000000",
    },
    status: { ready: false },
  });
}

const ibmRule = (port: number, remote: object) => ({
  action: "allow",
  direction: "inbound",
  source: { portRange: { maximumPort: port, minimumPort: port }, protocol: "tcp", remotes: [remote] },
});

export function ibmVpcCluster(
  options: { readonly konnectivity?: boolean; readonly bootstrapGroup?: false } = {},
): string {
  const clusterWide = { remoteType: "sg", securityGroupName: `${INFRA}-sg-cluster-wide` };
  const bootstrap = [ibmRule(22, { remoteType: "any" }), ...(options.konnectivity ? [ibmRule(8091, clusterWide)] : [])];
  return asGoWrites({
    apiVersion: `${group}/v1beta2`,
    kind: "IBMVPCCluster",
    metadata,
    spec: {
      controlPlaneEndpoint: { host: "api.lab.example.com", port: 6443 },
      network: {
        securityGroups: [
          { name: `${INFRA}-sg-cluster-wide`, rules: [ibmRule(22, clusterWide)] },
          ...(options.bootstrapGroup === false
            ? []
            : [{ name: `${INFRA}-security-group-bootstrap`, rules: bootstrap }]),
        ],
        vpc: { name: `${INFRA}-vpc` },
      },
      region: "eu-de",
      resourceGroup: INFRA,
    },
    status: { ready: false },
  });
}

export function powerVsCluster(): string {
  return asGoWrites({
    apiVersion: `${group}/v1beta2`,
    kind: "IBMPowerVSCluster",
    metadata,
    spec: {
      network: { name: `pvs-${INFRA}` },
      serviceInstance: { name: `${INFRA}-power` },
      serviceInstanceID: "",
      vpcSecurityGroups: [{ name: `${INFRA}-sg-control-plane`, rules: [ibmRule(6443, { remoteType: "any" })] }],
      zone: "dal10",
    },
    status: { ready: false },
  });
}
