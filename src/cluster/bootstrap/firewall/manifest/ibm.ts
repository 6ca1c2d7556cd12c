/** IBM Cloud's two cluster kinds: the same groups of rules in different places, and rules without names. */
import { ibmBootstrapGroup, ibmClusterWideGroup, powerVsGroup } from "../platforms/ibm.js";
import { type Manifest, UnknownShape } from "./document.js";
import { COMMENT, GROUP, type ManifestRules, type Outcome } from "./rules.js";

interface GroupRule {
  readonly action?: string;
  readonly direction?: string;
  readonly source?: {
    readonly protocol?: string;
    readonly portRange?: { readonly minimumPort?: number; readonly maximumPort?: number };
  };
}

interface Place {
  readonly groups: readonly string[];
  readonly group: (infraId: string) => string;
  readonly remote: (infraId: string) => object;
}

const apiVersions = [`${GROUP}/v1beta2`];

export const ibmCloudRules: ManifestRules = rulesIn("IBMVPCCluster", {
  groups: ["spec", "network", "securityGroups"],
  group: ibmBootstrapGroup,
  remote: (infraId) => ({ remoteType: "sg", securityGroupName: ibmClusterWideGroup(infraId) }),
});

export const powerVsRules: ManifestRules = rulesIn("IBMPowerVSCluster", {
  groups: ["spec", "vpcSecurityGroups"],
  group: powerVsGroup,
  // The manifest can name addresses, VPC subnets and groups; Power nodes are in none of them.
  remote: () => ({ remoteType: "any" }),
});

function rulesIn(kind: string, place: Place): ManifestRules {
  return {
    kind,
    apiVersions,

    open(manifest, { port }): Outcome {
      const { name, path } = find(manifest, place);
      if (manifest.list(...path).some((rule) => letsIn(rule, port))) {
        return { changes: [], notes: [`${name} already has a rule for port ${port}.`] };
      }
      const source = {
        portRange: { maximumPort: port, minimumPort: port },
        protocol: "tcp",
        remotes: [place.remote(manifest.name)],
      };
      manifest.append(path, { action: "allow", direction: "inbound", source }, COMMENT);
      return { changes: [{ where: name, rule: `tcp ${port}` }], notes: [] };
    },

    close(manifest, { port }): Outcome {
      const { name, path } = find(manifest, place);
      // Such rules have no name; the comment above tells ours from the installer's.
      const dropped = manifest.drop(path, ({ value, comment }) => comment === COMMENT && letsIn(value, port));
      const stays = manifest.list(...path).some((rule) => letsIn(rule, port));
      return {
        changes: dropped > 0 ? [{ where: name, rule: `tcp ${port}` }] : [],
        notes: stays ? [`A rule for port ${port} in ${name} is not ours and stays.`] : [],
      };
    },
  };
}

function find(manifest: Manifest, { groups, group }: Place): { name: string; path: (string | number)[] } {
  const name = group(manifest.name);
  const index = manifest.list(...groups).findIndex((candidate) => candidate.name === name);
  const path = [...groups, index, "rules"];
  // The installer gives each of these groups rules; one without is not its work.
  if (index < 0 || manifest.list(...path).length === 0)
    throw new UnknownShape(`${groups.join(".")} has no ${name} with rules`);
  return { name, path };
}

function letsIn({ action, direction, source }: GroupRule, port: number): boolean {
  const { minimumPort = 0, maximumPort = 0 } = source?.portRange ?? {};
  const isAllowed = action === "allow" && direction === "inbound" && source?.protocol === "tcp";
  return isAllowed && minimumPort <= port && port <= maximumPort;
}
