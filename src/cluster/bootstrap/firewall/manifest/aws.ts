import { REMOVED_BY_DESCRIPTION } from "../platforms/aws.js";
import { COMMENT, GROUP, type ManifestRules } from "./rules.js";

const LIST = ["spec", "network", "additionalControlPlaneIngressRules"] as const;
const SOURCES = ["controlplane", "node"] as const;

interface IngressRule {
  readonly description?: string;
  readonly protocol?: string;
  readonly fromPort?: number;
  readonly toPort?: number;
  readonly sourceSecurityGroupRoles?: readonly string[];
}

export const awsRules: ManifestRules = {
  kind: "AWSCluster",
  apiVersions: [`${GROUP}/v1beta1`, `${GROUP}/v1beta2`],

  open(manifest, { port }) {
    const there = manifest.list(...LIST).find((rule) => letsAgentsIn(rule, port)) as IngressRule | undefined;
    if (there !== undefined) {
      return {
        changes: [],
        notes: [`${LIST.join(".")} already has the rule ${JSON.stringify(there.description)} for port ${port}.`],
      };
    }
    const rule = {
      description: REMOVED_BY_DESCRIPTION,
      fromPort: port,
      protocol: "tcp",
      sourceSecurityGroupRoles: SOURCES,
      toPort: port,
    };
    manifest.append(LIST, rule, COMMENT);
    return {
      changes: [{ where: LIST.join("."), rule: `tcp ${port} from ${SOURCES.join(" and ")}` }],
      notes: [
        `The rule is described as ${JSON.stringify(REMOVED_BY_DESCRIPTION)}: by that text destroy bootstrap finds what it takes away.`,
      ],
    };
  },

  close(manifest, { port }) {
    const dropped = manifest.drop(LIST, ({ value }) => isOurs(value, port));
    const others = manifest.list(...LIST).filter((rule) => letsAgentsIn(rule, port)) as IngressRule[];
    return {
      changes: dropped > 0 ? [{ where: LIST.join("."), rule: `tcp ${port}` }] : [],
      notes: others.map(
        ({ description }) => `The rule ${JSON.stringify(description)} for port ${port} is not ours and stays.`,
      ),
    };
  },
};

function letsAgentsIn(rule: IngressRule, port: number): boolean {
  const { protocol, fromPort = 0, toPort = 0, sourceSecurityGroupRoles = [] } = rule;
  const covers = protocol === "-1" || (protocol === "tcp" && fromPort <= port && port <= toPort);
  return covers && SOURCES.every((role) => sourceSecurityGroupRoles.includes(role));
}

function isOurs(rule: IngressRule, port: number): boolean {
  return rule.description === REMOVED_BY_DESCRIPTION && rule.fromPort === port && rule.toPort === port;
}
