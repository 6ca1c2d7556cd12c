/** The networks of a cluster: apart from each other, pods out of reach, and an address that agents can dial. */
import { failed, type Judgement, ok, skipped, warning } from "../../../base/finding.js";
import { familyOf, type Network, parseNetwork } from "../../../cluster/bootstrap/address/ip.js";
import { defineCheck } from "../check.js";

const kinds = ["machine", "pod", "service"] as const;
type Kind = (typeof kinds)[number];

interface NamedNetwork {
  readonly kind: Kind;
  readonly prefix: Network;
}

export const overlap = defineCheck({
  ...{ id: "network-overlap", about: "The cluster's networks do not overlap", needs: ["networks"] },
  judge({ networks }) {
    const malformed: Judgement[] = [];
    const all: NamedNetwork[] = [];
    for (const [kind, text] of kinds.flatMap((each) => networks[each].map((one) => [each, one] as const))) {
      const prefix = parseNetwork(text);
      const message = `the ${kind} network ${JSON.stringify(text)} is not a prefix such as 10.0.0.0/16`;
      if (prefix === undefined) malformed.push(failed(message, `Correct --${kind}-network.`));
      else all.push({ kind, prefix });
    }
    const clashes = all.flatMap((one, index) =>
      all
        .slice(index + 1)
        .filter((other) => areOverlapping(one.prefix, other.prefix))
        .map((other) => clash(one, other, networks.from)),
    );
    if (malformed.length + clashes.length > 0) return [...malformed, ...clashes];
    const known = kinds.filter((kind) => all.some((one) => one.kind === kind));
    const listed = all.map(({ kind, prefix }) => `${kind} ${prefix.text}`);
    if (known.length >= 2) return ok(`${known.join(", ")} networks do not overlap`, ...listed);
    const missing = kinds.filter((kind) => !known.includes(kind)).map((kind) => `--${kind}-network`);
    return skipped("too few of the cluster's networks are known to compare them", `Give ${missing.join(" and ")}.`);
  },
});

function areOverlapping(one: Network, other: Network): boolean {
  const first = ({ text }: Network) => text.split("/")[0] ?? "";
  return one.contains(first(other)) || other.contains(first(one));
}

const fields = { machine: "machineNetwork", pod: "clusterNetwork", service: "serviceNetwork" } as const;
const kubeadm = { machine: "the hosts' network", pod: "--pod-network-cidr", service: "--service-cidr" } as const;

function clash(one: NamedNetwork, other: NamedNetwork, from: string): Judgement {
  return failed(
    `the ${one.kind} network ${one.prefix.text} and the ${other.kind} network ${other.prefix.text} overlap`,
    `Choose another ${other.kind} network before the install (networking.${fields[other.kind]} of install-config.yaml, ${kubeadm[other.kind]} of kubeadm): agents cannot tell such addresses apart.`,
    `read from ${from}`,
  );
}

export const routeToPods = defineCheck({
  ...{ id: "route-to-pods", about: "The host has no route of its own to pods", needs: ["podRoutes"] },
  judge: ({ podRoutes }) =>
    podRoutes.map(({ prefix, routes }) => {
      if (routes.length === 0)
        return ok(`this host has no route of its own to the pod network ${prefix.text}, so a bridge is needed`);
      const version = familyOf(prefix.firstHost) === 6 ? "-6 " : "";
      return warning(
        `this host has a route to the pod network ${prefix.text} already, so its kube-apiserver may not need a bridge`,
        `Try it: curl -k https://POD:PORT from here. If the route is a leftover, remove it: ip ${version}route del ${routes[0]}.`,
        ...routes,
      );
    }),
});

export const addressChoice = defineCheck({
  ...{ id: "address", about: "The host has the address that agents dial", needs: ["address"] },
  judge({ address: { considered, isPlanned, recorded, target, warnings } }) {
    const lines = considered.map(({ outcome, detail }) => `${outcome}: ${detail}`);
    const remedy = "Give the address that agents reach with --address, or in DRAWBRIDGE_BOOTSTRAP_NODE_IP.";
    return [
      recorded === undefined || recorded === target
        ? ok(isPlanned ? `agents of a bridge made here would dial ${target}` : `agents dial ${target}`, ...lines)
        : failed(
            `certificates and agents were made for ${recorded}, but this host would now be ${target}`,
            `Give the host ${recorded} back, or make the bridge again: drawbridge bootstrap teardown, then up.`,
            ...lines,
          ),
      ...warnings.map((text) => warning(text.replace(/\.$/, ""), remedy)),
    ];
  },
});
