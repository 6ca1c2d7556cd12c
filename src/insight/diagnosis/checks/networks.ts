/** The networks of a cluster: apart from each other, and pods really out of reach. */
import { familyOf, type Prefix, parsePrefix } from "../../../cluster/bootstrap/address/ip.js";
import type { DoctorContext, Networks } from "../context.js";
import { bridgeRoles, type Check, type Outcome, ok, skipped, warning, wrong } from "../diagnosis.js";

interface Named {
  readonly kind: "machine" | "pod" | "service";
  readonly prefix: Prefix;
}

const flags = { machine: "--machine-network", pod: "--pod-network", service: "--service-network" } as const;

export const overlap: Check<DoctorContext> = {
  id: "network-overlap",
  roles: bridgeRoles,
  run: async ({ networks }) => judgeNetworks(networks),
};

export function judgeNetworks(networks: Networks): Outcome[] {
  const unread = kinds.flatMap((kind) =>
    networks[kind]
      .filter((text) => parsePrefix(text) === undefined)
      .map((text) =>
        wrong(
          `the ${kind} network ${JSON.stringify(text)} is not a prefix such as 10.0.0.0/16`,
          `Correct ${flags[kind]}.`,
        ),
      ),
  );
  const all = kinds.flatMap((kind) => networks[kind].flatMap((text) => named(kind, text)));
  const known = kinds.filter((kind) => all.some((one) => one.kind === kind));
  const clashes = all.flatMap((one, index) =>
    all
      .slice(index + 1)
      .filter((other) => areOverlapping(one, other))
      .map((other) => clash(one, other, networks.from)),
  );
  if (unread.length + clashes.length > 0) return [...unread, ...clashes];
  const listed = all.map(({ kind, prefix }) => `${kind} ${prefix.text}`);
  if (known.length >= 2) return [ok(`${known.join(", ")} networks do not overlap`, ...listed)];
  const missing = kinds.filter((kind) => !known.includes(kind)).map((kind) => flags[kind]);
  return [skipped("too few of the cluster's networks are known to compare them", `Give ${missing.join(" and ")}.`)];
}

const kinds = ["machine", "pod", "service"] as const;

function named(kind: Named["kind"], text: string): Named[] {
  const prefix = parsePrefix(text);
  return prefix === undefined ? [] : [{ kind, prefix }];
}

function areOverlapping({ prefix: a }: Named, { prefix: b }: Named): boolean {
  const first = ({ text }: Prefix) => text.split("/")[0] ?? "";
  return a.contains(first(b)) || b.contains(first(a));
}

function clash(one: Named, other: Named, from: string): Outcome {
  return wrong(
    `the ${one.kind} network ${one.prefix.text} and the ${other.kind} network ${other.prefix.text} overlap`,
    `Choose another ${other.kind} network before the install (networking.${fields[other.kind]} of install-config.yaml, ${kubeadm[other.kind]} of kubeadm): agents cannot tell such addresses apart.`,
    `read from ${from}`,
  );
}

const fields = { machine: "machineNetwork", pod: "clusterNetwork", service: "serviceNetwork" } as const;
const kubeadm = { machine: "the hosts' network", pod: "--pod-network-cidr", service: "--service-cidr" } as const;

export const routeToPods: Check<DoctorContext> = {
  id: "route-to-pods",
  roles: ["server", "bootstrap"],
  async run({ host, networks }) {
    const pods = networks.pod.flatMap((text) => named("pod", text));
    if (pods.length === 0) return [skipped("the pod network is not known", "Give --pod-network.")];
    return Promise.all(
      pods.map(async ({ prefix }) => {
        const routes = await host.routesTo(prefix.firstHost);
        if (routes.length === 0)
          return ok(`this host has no route of its own to the pod network ${prefix.text}, so a bridge is needed`);
        return warning(
          `this host has a route to the pod network ${prefix.text} already, so its kube-apiserver may not need a bridge`,
          `Try it: curl -k https://POD:PORT from here. If the route is a leftover, remove it: ip ${familyOf(prefix.firstHost) === 6 ? "-6 " : ""}route del ${routes[0]}.`,
          ...routes,
        );
      }),
    );
  },
};
