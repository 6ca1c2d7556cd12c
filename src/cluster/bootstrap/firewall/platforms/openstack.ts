import {
  isIPv6,
  lines,
  MARK,
  OPENS_ITSELF,
  type PlanStep,
  type PlatformPlan,
  type PlatformPlanInput,
} from "../plan.js";

export function openStackPlan(asked: PlatformPlanInput): PlatformPlan {
  return asked.upi ? userProvisioned(asked) : installerProvisioned(asked);
}

function installerProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, rule } = asked;
  return {
    where: `security group ${infraId}-bootstrap; before 4.21 there is none, and the bootstrap machine has ${infraId}-master`,
    sources: asked.machineNetworks,
    opened: [
      { by: OPENS_ITSELF, what: `adds the rule to ${infraId}-bootstrap, one for each machine network; nothing to do` },
      { by: "earlier installers", what: "do not; run the commands below once the security groups exist" },
    ],
    removed: [
      {
        by: "openshift-install 4.21 and later",
        what: `deletes ${infraId}-bootstrap, and with it its rules, after the bootstrap machine`,
      },
      { by: "earlier installers", what: `do not: the rule on ${infraId}-master stays until the removal below` },
    ],
    forgotten: [`The rule on ${infraId}-master, where there was no ${infraId}-bootstrap.`],
    open: [
      {
        title: "Let every machine network in",
        language: "shell",
        text: lines(
          chooseGroup(infraId),
          asked.machineNetworks.map((network) => createRule(network, rule.port, '"$group"')),
        ),
      },
    ],
    remove: [
      {
        title: `Delete the rules for port ${rule.port}, where the group itself is still there`,
        language: "shell",
        text: lines(
          chooseGroup(infraId),
          'openstack security group rule list --ingress --protocol tcp -f json "$group" |',
          `  jq -r '.[] | select(."Port Range" == "${rule.port}:${rule.port}") | .ID' |`,
          "  xargs -r openstack security group rule delete",
        ),
      },
    ],
    notes: asked.byoNetwork
      ? [
          "In networks of your own the security groups are still the installer's; routers or firewalls between subnets are yours.",
        ]
      : [],
  };
}

function chooseGroup(infraId: string): string[] {
  return [
    `group=$(openstack security group show ${infraId}-bootstrap -f value -c id 2>/dev/null) ||`,
    `  group=$(openstack security group show ${infraId}-master -f value -c id)`,
  ];
}

function createRule(network: string, port: number, group: string): string {
  const family = isIPv6(network) ? "IPv6" : "IPv4";
  return lines(
    `openstack security group rule create --ingress --ethertype ${family} --protocol tcp \\`,
    `  --dst-port ${port} --remote-ip ${network} --description ${MARK} ${group}`,
  );
}

/** A group of its own: the playbooks give the bootstrap machine the masters' group, where a rule would stay for good. */
function userProvisioned(asked: PlatformPlanInput): PlatformPlan {
  const { infraId, machineNetworks, rule } = asked;
  const group = `${infraId}-bootstrap-konnectivity`;
  return {
    where: `security group ${group}, on the port of the bootstrap machine only`,
    sources: machineNetworks,
    opened: [
      { by: "you", what: "with the playbook part or the commands below, after bootstrap.yaml has made the port" },
    ],
    removed: [{ by: "you", what: "after down-bootstrap.yaml has deleted the port" }],
    forgotten: [`Security group ${group}: no playbook knows it.`],
    open: [playbook(machineNetworks, rule.port), attach(group, asked)],
    remove: [
      {
        title: "Delete the group",
        language: "shell",
        text: lines(
          `if openstack security group show ${group} >/dev/null 2>&1; then`,
          `  if openstack port show ${infraId}-bootstrap-port >/dev/null 2>&1; then`,
          `    openstack port unset --security-group ${group} ${infraId}-bootstrap-port`,
          "  fi",
          `  openstack security group delete ${group}`,
          "fi",
        ),
      },
    ],
    notes: [],
  };
}

function playbook(networks: readonly string[], port: number): PlanStep {
  const rules = networks.flatMap((network) => [
    `- name: 'Let agents in from ${network}'`,
    "  openstack.cloud.security_group_rule:",
    `    security_group: "{{ infraID }}-bootstrap-konnectivity"`,
    `    ether_type: ${isIPv6(network) ? "IPv6" : "IPv4"}`,
    "    protocol: tcp",
    `    remote_ip_prefix: "${network}"`,
    `    port_range_min: ${port}`,
    `    port_range_max: ${port}`,
  ]);
  return {
    title: "Either add these tasks to the end of bootstrap.yaml",
    language: "yaml",
    text: lines(
      "- name: 'Create the security group for agents'",
      "  openstack.cloud.security_group:",
      `    name: "{{ infraID }}-bootstrap-konnectivity"`,
      `    description: ${MARK}`,
      rules,
      "- name: 'Give it to the bootstrap port'",
      "  ansible.builtin.command:",
      `    cmd: openstack port set --security-group {{ infraID }}-bootstrap-konnectivity {{ os_port_bootstrap }}`,
    ),
  };
}

function attach(group: string, { infraId, machineNetworks, rule }: PlatformPlanInput): PlanStep {
  return {
    title: "Or run the same by hand",
    language: "shell",
    text: lines(
      `openstack security group create --description ${MARK} ${group}`,
      machineNetworks.map((network) => createRule(network, rule.port, group)),
      `openstack port set --security-group ${group} ${infraId}-bootstrap-port`,
    ),
  };
}
