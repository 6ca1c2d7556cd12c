import { given, lines, OPENS_ITSELF, type PlanStep, type PlatformPlan, type PlatformPlanInput } from "../plan.js";

export const ibmBootstrapGroup = (infraId: string): string => `${infraId}-security-group-bootstrap`;
export const ibmClusterWideGroup = (infraId: string): string => `${infraId}-sg-cluster-wide`;
export const powerVsGroup = (infraId: string): string => `${infraId}-sg-control-plane`;

export function ibmCloudPlan(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, upi, byoNetwork } = asked;
  const group = ibmBootstrapGroup(infraId);
  const vpc = byoNetwork || upi ? given("VPC", "name of your VPC") : `${infraId}-vpc`;
  const scope: GroupScope = { group, vpc, remote: ibmClusterWideGroup(infraId) };
  return {
    where: `security group ${group}, through the IBMVPCCluster's securityGroups`,
    sources: [`security group ${scope.remote}`],
    opened: upi
      ? [{ by: "you", what: "create the group, give it to the bootstrap machine, run the command below" }]
      : [
          { by: OPENS_ITSELF, what: "has the rule in its manifests; nothing to do" },
          {
            by: "openshift-install 4.19 to 4.22",
            what: "does not; run drawbridge firewall patch --platform ibmcloud between create manifests and create cluster",
          },
          { by: "openshift-install before 4.19", what: "does not, and has no such manifest; run the command below" },
        ],
    removed: upi
      ? [{ by: "you", what: "together with the bootstrap machine" }]
      : [
          {
            by: "openshift-install 4.19 and later",
            what: `takes ${group} off the bootstrap machine and deletes it with all its rules, before the machine`,
          },
        ],
    forgotten: upi ? [`${group}, which only you know.`] : [],
    open: [addRule(asked, scope)],
    remove: [deleteRules(asked, scope)],
    notes: [],
  };
}

export function powerVsPlan(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, upi, byoNetwork, rule } = asked;
  const vpc = byoNetwork || upi ? given("VPC", "name of your VPC") : `vpc-${infraId}`;
  const scope: GroupScope = { group: powerVsGroup(infraId), vpc, remote: "0.0.0.0/0" };
  return {
    where: `VPC security group ${scope.group}, through the IBMPowerVSCluster's vpcSecurityGroups`,
    sources: ["anywhere (the manifest can name VPC subnets and groups, and Power nodes are in neither)"],
    opened: upi
      ? [{ by: "you", what: "run the command below" }]
      : [
          { by: OPENS_ITSELF, what: "has the rule in its manifests; nothing to do" },
          {
            by: "earlier installers whose manifest has vpcSecurityGroups",
            what: "do not; run drawbridge firewall patch --platform powervs between create manifests and create cluster",
          },
        ],
    removed: [
      { by: "you", what: "no installer ever takes this rule away; run the removal below when bootstrap is complete" },
    ],
    forgotten: [`The rule for port ${rule.port} on ${scope.group}, open to anywhere for the life of the cluster.`],
    open: [addRule(asked, scope)],
    remove: [deleteRules(asked, scope)],
    notes: [
      "The VPC's security groups guard the load balancers and machines of the VPC; whether they are also in the way between two Power machines depends on the workspace's network.",
    ],
  };
}

interface GroupScope {
  readonly group: string;
  readonly vpc: string;
  readonly remote: string;
}

function addRule({ rule }: PlatformPlanInput, { group, vpc, remote }: GroupScope): PlanStep {
  return {
    title: "Add the rule",
    language: "shell",
    text: lines(
      `ibmcloud is security-group-rule-add ${group} inbound tcp --vpc ${vpc} \\`,
      `  --port-min ${rule.port} --port-max ${rule.port} --remote ${remote}`,
    ),
  };
}

function deleteRules({ rule }: PlatformPlanInput, { group, vpc }: GroupScope): PlanStep {
  return {
    title: `Delete every rule for port ${rule.port}, if the group is still there`,
    language: "shell",
    text: lines(
      `ibmcloud is security-group-rules ${group} --vpc ${vpc} --output JSON |`,
      `  jq -r '.[] | select(.port_min == ${rule.port} and .port_max == ${rule.port}) | .id' |`,
      `  xargs -r ibmcloud is security-group-rule-delete ${group} --vpc ${vpc} --force`,
    ),
  };
}
