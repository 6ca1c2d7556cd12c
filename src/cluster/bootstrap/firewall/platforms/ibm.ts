import { actions, given, OPENS_ITSELF, type PlatformPlan, type PlatformPlanInput, shell } from "../plan.js";

export const ibmBootstrapGroup = (infraId: string): string => `${infraId}-security-group-bootstrap`;
export const ibmClusterWideGroup = (infraId: string): string => `${infraId}-sg-cluster-wide`;
export const powerVsGroup = (infraId: string): string => `${infraId}-sg-control-plane`;

export function ibmCloudPlan(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, upi } = asked;
  const [group, remote] = [ibmBootstrapGroup(infraId), ibmClusterWideGroup(infraId)];
  return {
    where: `security group ${group}, through the IBMVPCCluster's securityGroups`,
    sources: [`security group ${remote}`],
    opened: upi
      ? actions`you | create the group, give it to the bootstrap machine, run the command below`
      : actions`
        ${OPENS_ITSELF} | has the rule in its manifests; nothing to do
        openshift-install 4.19 to 4.22 | does not; run drawbridge firewall patch --platform ibmcloud between create manifests and create cluster
        openshift-install before 4.19 | does not, and has no such manifest; run the command below`,
    removed: upi
      ? actions`you | together with the bootstrap machine`
      : actions`openshift-install 4.19 and later | takes ${group} off the bootstrap machine and deletes it with all its rules, before the machine`,
    forgotten: upi ? [`${group}, which only you know.`] : [],
    ...commands(asked, group, `${infraId}-vpc`, remote),
    notes: [],
  };
}

export function powerVsPlan(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, upi, port } = asked;
  const group = powerVsGroup(infraId);
  return {
    where: `VPC security group ${group}, through the IBMPowerVSCluster's vpcSecurityGroups`,
    sources: ["anywhere (the manifest can name VPC subnets and groups, and Power nodes are in neither)"],
    opened: upi
      ? actions`you | run the command below`
      : actions`
        ${OPENS_ITSELF} | has the rule in its manifests; nothing to do
        earlier installers whose manifest has vpcSecurityGroups | do not; run drawbridge firewall patch --platform powervs between create manifests and create cluster`,
    removed: actions`you | no installer ever takes this rule away; run the removal below when bootstrap is complete`,
    forgotten: [`The rule for port ${port} on ${group}, open to anywhere for the life of the cluster.`],
    ...commands(asked, group, `vpc-${infraId}`, "0.0.0.0/0"),
    notes: [
      "The VPC's security groups guard the load balancers and machines of the VPC; whether they also filter between two Power machines depends on the workspace's network.",
    ],
  };
}

function commands({ upi, byoNetwork, port }: PlatformPlanInput, group: string, installersVpc: string, remote: string) {
  const vpc = byoNetwork || upi ? given("VPC", "name of your VPC") : installersVpc;
  return {
    open: [
      shell("Add the rule")`
        ibmcloud is security-group-rule-add ${group} inbound tcp --vpc ${vpc} \\
          --port-min ${port} --port-max ${port} --remote ${remote}`,
    ],
    remove: [
      shell(`Delete every rule for port ${port}, if the group is still there`)`
        ibmcloud is security-group-rules ${group} --vpc ${vpc} --output JSON |
          jq -r '.[] | select(.port_min == ${port} and .port_max == ${port}) | .id' |
          xargs -r ibmcloud is security-group-rule-delete ${group} --vpc ${vpc} --force`,
    ],
  };
}
