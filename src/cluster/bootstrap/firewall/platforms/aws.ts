import { given, lines, MARK, OPENS_ITSELF, type PlanStep, type PlatformPlan, type PlatformPlanInput } from "../plan.js";

/** The text by which every installer with Cluster API finds the rules it takes away with the bootstrap machine. */
export const REMOVED_BY_DESCRIPTION = "Bootstrap SSH Access";

export function awsPlan(asked: PlatformPlanInput): PlatformPlan {
  return asked.upi ? userProvisioned(asked) : installerProvisioned(asked);
}

function installerProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, rule } = asked;
  return {
    where: `the control-plane security group ${infraId}-controlplane, through the AWSCluster's additionalControlPlaneIngressRules`,
    sources: [`security group ${infraId}-controlplane`, `security group ${infraId}-node`],
    opened: [
      { by: OPENS_ITSELF, what: 'adds the rule "Bootstrap Konnectivity" to the manifests; nothing to do' },
      {
        by: "openshift-install 4.16 to 4.22",
        what: "does not; run drawbridge firewall patch --platform aws between create manifests and create cluster",
      },
      { by: "openshift-install before 4.16", what: "does not, and has no such manifest; run the commands below" },
    ],
    removed: [
      {
        by: OPENS_ITSELF,
        what: `takes away "Bootstrap Konnectivity" and "${REMOVED_BY_DESCRIPTION}" before it deletes the bootstrap machine, waiting at most 15 minutes`,
      },
      {
        by: "openshift-install 4.16 to 4.22",
        what: `takes away rules by the text "${REMOVED_BY_DESCRIPTION}" only, whatever their port; the patched rule carries that text`,
      },
    ],
    forgotten: [
      `A rule with any other description, also one made by hand, stays on the control-plane security group that the masters go on using.`,
    ],
    open: [openByHand(asked)],
    remove: [removeByHand(asked)],
    notes: [
      "While create cluster runs, Cluster API takes rules that are not in its manifest away again: patch the manifest, or open by hand only after the machines are up.",
      ...(asked.byoNetwork
        ? [
            `In a VPC of your own the security groups are still the installer's; network ACLs of your subnets must let TCP ${rule.port} through as well.`,
          ]
        : []),
    ],
  };
}

function userProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { rule } = asked;
  return {
    where: "BootstrapSecurityGroup of the bootstrap stack (04_cluster_bootstrap.yaml)",
    sources: ["MasterSecurityGroup", "WorkerSecurityGroup"],
    opened: [{ by: "you", what: "add the parts below to the bootstrap template before its stack is made" }],
    removed: [{ by: "you", what: "the rules go with the bootstrap stack: aws cloudformation delete-stack" }],
    forgotten: [],
    open: [
      {
        title: "Add to 04_cluster_bootstrap.yaml, and give the parameter from the outputs of the security stack",
        language: "yaml",
        text: lines(
          "Parameters:",
          "  WorkerSecurityGroupId:",
          "    Type: AWS::EC2::SecurityGroup::Id",
          "    Description: WorkerSecurityGroupId of the security stack.",
          "Resources:",
          ...ingress("BootstrapKonnectivityFromMasters", "MasterSecurityGroupId", rule.port),
          ...ingress("BootstrapKonnectivityFromWorkers", "WorkerSecurityGroupId", rule.port),
        ),
      },
    ],
    remove: [
      {
        title: "Delete the bootstrap stack, which holds the rules",
        language: "shell",
        text: `aws cloudformation delete-stack --stack-name ${given("BOOTSTRAP_STACK", "name of the bootstrap stack")}`,
      },
    ],
    notes: ["Rules on MasterSecurityGroup instead would work too, and would stay when the bootstrap stack is deleted."],
  };
}

function ingress(name: string, source: string, port: number): string[] {
  return [
    `  ${name}:`,
    "    Type: AWS::EC2::SecurityGroupIngress",
    "    Properties:",
    "      GroupId: !GetAtt BootstrapSecurityGroup.GroupId",
    "      IpProtocol: tcp",
    `      FromPort: ${port}`,
    `      ToPort: ${port}`,
    `      SourceSecurityGroupId: !Ref ${source}`,
    `      Description: ${MARK}`,
  ];
}

/** Cluster API's names first, then those of the Terraform installers before 4.16. */
const groups = (infraId: string): string[] => [
  "group() { aws ec2 describe-security-groups --filters \"Name=tag:Name,Values=$1\" --query 'SecurityGroups[0].GroupId' --output text; }",
  `control_plane=$(group "${infraId}-controlplane,${infraId}-master-sg")`,
];

function openByHand({ infraId, rule }: PlatformPlanInput): PlanStep {
  const pairs = `[{\\"GroupId\\":\\"$control_plane\\",\\"Description\\":\\"${MARK}\\"},{\\"GroupId\\":\\"$workers\\",\\"Description\\":\\"${MARK}\\"}]`;
  return {
    title: "Let the security groups of masters and workers in",
    language: "shell",
    text: lines(
      groups(infraId),
      `workers=$(group "${infraId}-node,${infraId}-worker-sg")`,
      'aws ec2 authorize-security-group-ingress --group-id "$control_plane" --ip-permissions \\',
      `  "[{\\"IpProtocol\\":\\"tcp\\",\\"FromPort\\":${rule.port},\\"ToPort\\":${rule.port},\\"UserIdGroupPairs\\":${pairs}}]"`,
    ),
  };
}

function removeByHand({ infraId, rule }: PlatformPlanInput): PlanStep {
  const ours = `SecurityGroupRules[?!IsEgress && FromPort==\`${rule.port}\` && ToPort==\`${rule.port}\`].SecurityGroupRuleId`;
  return {
    title: `Take every rule for port ${rule.port} away from the control-plane security group`,
    language: "shell",
    text: lines(
      groups(infraId),
      'aws ec2 describe-security-group-rules --filters "Name=group-id,Values=$control_plane" \\',
      `  --query '${ours}' --output text |`,
      '  xargs -r aws ec2 revoke-security-group-ingress --group-id "$control_plane" --security-group-rule-ids',
    ),
  };
}
