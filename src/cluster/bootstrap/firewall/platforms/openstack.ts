import {
  actions,
  block,
  isIPv6,
  MARK,
  OPENS_ITSELF,
  type PlatformPlan,
  type PlatformPlanInput,
  shell,
  yaml,
} from "../plan.js";

export function openStackPlan(asked: PlatformPlanInput): PlatformPlan {
  return asked.upi ? userProvisioned(asked) : installerProvisioned(asked);
}

function installerProvisioned({ infraId, machineNetworks, byoNetwork, port }: PlatformPlanInput): PlatformPlan {
  const chooseGroup = block`
    group=$(openstack security group show ${infraId}-bootstrap -f value -c id 2>/dev/null) ||
      group=$(openstack security group show ${infraId}-master -f value -c id)`;
  const own =
    "In networks of your own the security groups are still the installer's; routers or firewalls between subnets are yours.";
  return {
    where: `security group ${infraId}-bootstrap; before 4.21 there is none, and the bootstrap machine has ${infraId}-master`,
    sources: machineNetworks,
    opened: actions`
      ${OPENS_ITSELF} | adds the rule to ${infraId}-bootstrap, one for each machine network; nothing to do
      earlier installers | do not; run the commands below once the security groups exist`,
    removed: actions`
      openshift-install 4.21 and later | deletes ${infraId}-bootstrap, and with it its rules, after the bootstrap machine
      earlier installers | do not: the rule on ${infraId}-master stays until the removal below`,
    forgotten: [`The rule on ${infraId}-master, where there was no ${infraId}-bootstrap.`],
    open: [
      shell("Let every machine network in")`
        ${chooseGroup}
        ${createRules(machineNetworks, port, '"$group"')}`,
    ],
    remove: [
      shell(`Delete the rules for port ${port}, where the group itself is still there`)`
        ${chooseGroup}
        openstack security group rule list --ingress --protocol tcp -f json "$group" |
          jq -r '.[] | select(."Port Range" == "${port}:${port}") | .ID' |
          xargs -r openstack security group rule delete`,
    ],
    notes: byoNetwork ? [own] : [],
  };
}

/** A group of its own: the playbooks give the bootstrap machine the masters' group, where a rule would stay for good. */
function userProvisioned({ infraId, machineNetworks, port }: PlatformPlanInput): PlatformPlan {
  const group = `${infraId}-bootstrap-konnectivity`;
  const ruleTask = (network: string) => block`
    - name: 'Let agents in from ${network}'
      openstack.cloud.security_group_rule:
        security_group: "{{ infraID }}-bootstrap-konnectivity"
        ether_type: ${etherType(network)}
        protocol: tcp
        remote_ip_prefix: "${network}"
        port_range_min: ${port}
        port_range_max: ${port}`;
  return {
    where: `security group ${group}, on the port of the bootstrap machine only`,
    sources: machineNetworks,
    opened: actions`you | with the playbook part or the commands below, after bootstrap.yaml has made the port`,
    removed: actions`you | after down-bootstrap.yaml has deleted the port`,
    forgotten: [`Security group ${group}: no playbook knows it.`],
    open: [
      yaml("Either add these tasks to the end of bootstrap.yaml")`
        - name: 'Create the security group for agents'
          openstack.cloud.security_group:
            name: "{{ infraID }}-bootstrap-konnectivity"
            description: ${MARK}
        ${machineNetworks.map(ruleTask)}
        - name: 'Give it to the bootstrap port'
          ansible.builtin.command:
            cmd: openstack port set --security-group {{ infraID }}-bootstrap-konnectivity {{ os_port_bootstrap }}`,
      shell("Or run the same by hand")`
        openstack security group create --description ${MARK} ${group}
        ${createRules(machineNetworks, port, group)}
        openstack port set --security-group ${group} ${infraId}-bootstrap-port`,
    ],
    remove: [
      shell("Delete the group")`
        if openstack security group show ${group} >/dev/null 2>&1; then
          if openstack port show ${infraId}-bootstrap-port >/dev/null 2>&1; then
            openstack port unset --security-group ${group} ${infraId}-bootstrap-port
          fi
          openstack security group delete ${group}
        fi`,
    ],
    notes: [],
  };
}

const etherType = (network: string): string => (isIPv6(network) ? "IPv6" : "IPv4");

const createRules = (networks: readonly string[], port: number, group: string): string[] =>
  networks.map(
    (network) => block`
      openstack security group rule create --ingress --ethertype ${etherType(network)} --protocol tcp \\
        --dst-port ${port} --remote-ip ${network} --description ${MARK} ${group}`,
  );
