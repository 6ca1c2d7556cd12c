import {
  actions,
  block,
  given,
  MARK,
  OPENS_ITSELF,
  type PlatformPlan,
  type PlatformPlanInput,
  shell,
  yaml,
} from "../plan.js";

/** The text by which every installer with Cluster API finds the rules it takes away with the bootstrap machine. */
export const REMOVED_BY_DESCRIPTION = "Bootstrap SSH Access";

export function awsPlan({ infraId, port, byoNetwork, upi }: PlatformPlanInput): PlatformPlan {
  if (upi) return userProvisioned(port);
  // Cluster API's names first, then those of the Terraform installers before 4.16.
  const controlPlane = block`
    group() { aws ec2 describe-security-groups --filters "Name=tag:Name,Values=$1" --query 'SecurityGroups[0].GroupId' --output text; }
    control_plane=$(group "${infraId}-controlplane,${infraId}-master-sg")`;
  const pair = (group: string) => `{\\"GroupId\\":\\"$${group}\\",\\"Description\\":\\"${MARK}\\"}`;
  const pairs = `[${pair("control_plane")},${pair("workers")}]`;
  const ours = `SecurityGroupRules[?!IsEgress && FromPort==\`${port}\` && ToPort==\`${port}\`].SecurityGroupRuleId`;
  const own = `In a VPC of your own the security groups are still the installer's; network ACLs of your subnets must let TCP ${port} through as well.`;
  return {
    where: `the control-plane security group ${infraId}-controlplane, through the AWSCluster's additionalControlPlaneIngressRules`,
    sources: [`security group ${infraId}-controlplane`, `security group ${infraId}-node`],
    opened: actions`
      ${OPENS_ITSELF} | adds the rule "Bootstrap Konnectivity" to the manifests; nothing to do
      openshift-install 4.16 to 4.22 | does not; run drawbridge firewall patch --platform aws between create manifests and create cluster
      openshift-install before 4.16 | does not, and has no such manifest; run the commands below`,
    removed: actions`
      ${OPENS_ITSELF} | takes away "Bootstrap Konnectivity" and "${REMOVED_BY_DESCRIPTION}" before it deletes the bootstrap machine, waiting at most 15 minutes
      openshift-install 4.16 to 4.22 | takes away rules by the text "${REMOVED_BY_DESCRIPTION}" only, whatever their port; the patched rule carries that text`,
    forgotten: [
      "A rule with any other description, also one made by hand, stays on the control-plane security group that the masters go on using.",
    ],
    open: [
      shell("Let the security groups of masters and workers in")`
        ${controlPlane}
        workers=$(group "${infraId}-node,${infraId}-worker-sg")
        aws ec2 authorize-security-group-ingress --group-id "$control_plane" --ip-permissions \\
          "[{\\"IpProtocol\\":\\"tcp\\",\\"FromPort\\":${port},\\"ToPort\\":${port},\\"UserIdGroupPairs\\":${pairs}}]"`,
    ],
    remove: [
      shell(`Take every rule for port ${port} away from the control-plane security group`)`
        ${controlPlane}
        aws ec2 describe-security-group-rules --filters "Name=group-id,Values=$control_plane" \\
          --query '${ours}' --output text |
          xargs -r aws ec2 revoke-security-group-ingress --group-id "$control_plane" --security-group-rule-ids`,
    ],
    notes: [
      "While create cluster runs, Cluster API takes rules that are not in its manifest away again: patch the manifest, or open by hand only after the machines are up.",
      ...(byoNetwork ? [own] : []),
    ],
  };
}

function userProvisioned(port: number): PlatformPlan {
  const ingress = (from: string, source: string) =>
    block`
      BootstrapKonnectivityFrom${from}:
        Type: AWS::EC2::SecurityGroupIngress
        Properties:
          GroupId: !GetAtt BootstrapSecurityGroup.GroupId
          IpProtocol: tcp
          FromPort: ${port}
          ToPort: ${port}
          SourceSecurityGroupId: !Ref ${source}
          Description: ${MARK}`.replace(/^/gm, "  ");
  return {
    where: "BootstrapSecurityGroup of the bootstrap stack (04_cluster_bootstrap.yaml)",
    sources: ["MasterSecurityGroup", "WorkerSecurityGroup"],
    opened: actions`you | add the parts below to the bootstrap template before its stack is made`,
    removed: actions`you | the rules go with the bootstrap stack: aws cloudformation delete-stack`,
    forgotten: [],
    open: [
      yaml("Add to 04_cluster_bootstrap.yaml, and give the parameter from the outputs of the security stack")`
        Parameters:
          WorkerSecurityGroupId:
            Type: AWS::EC2::SecurityGroup::Id
            Description: WorkerSecurityGroupId of the security stack.
        Resources:
        ${[ingress("Masters", "MasterSecurityGroupId"), ingress("Workers", "WorkerSecurityGroupId")]}`,
    ],
    remove: [
      shell("Delete the bootstrap stack, which holds the rules")`
        aws cloudformation delete-stack --stack-name ${given("BOOTSTRAP_STACK", "name of the bootstrap stack")}`,
    ],
    notes: ["Rules on MasterSecurityGroup instead would work too, and would stay when the bootstrap stack is deleted."],
  };
}
