/** What a cluster's Services mean on the wire: addresses by name, and targets by address. */

export interface Service {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: {
    readonly clusterIP?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly protocol?: string;
      readonly nodePort?: number;
    }[];
  };
}

export interface EndpointSlice {
  readonly metadata?: { readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly name?: string; readonly port?: number }[] | null;
  readonly endpoints?:
    | readonly { readonly addresses: readonly string[]; readonly conditions?: { readonly ready?: boolean } }[]
    | null;
}

export const CHAIN = "LAB-SERVICES";

/** As pods ask for them. */
export function zoneOf(services: readonly Service[]): Map<string, string> {
  const named = services.filter(hasAddress);
  return new Map(
    named.map(({ metadata, spec }) => [`${metadata?.name}.${metadata?.namespace}.svc.cluster.local`, spec!.clusterIP!]),
  );
}

/** For `iptables-restore --noflush`: TCP only, and each ready endpoint is as likely as the next. */
export function rulesOf(services: readonly Service[], slices: readonly EndpointSlice[]): string {
  const rules = services.filter(hasAddress).flatMap(({ metadata, spec }) => {
    const own = slices.filter((slice) => {
      const isOf = slice.metadata?.labels?.["kubernetes.io/service-name"] === metadata?.name;
      return isOf && slice.metadata?.namespace === metadata?.namespace;
    });
    return (spec?.ports ?? []).flatMap(({ name, port, nodePort }) => {
      const targets = own.flatMap((slice) => targetsOf(slice, name));
      return targets.flatMap((target, index) => {
        const chance = (1 / (targets.length - index)).toFixed(4);
        const turn = index === targets.length - 1 ? "" : ` -m statistic --mode random --probability ${chance}`;
        const onNodes = `-m addrtype --dst-type LOCAL -p tcp --dport ${nodePort}`;
        const asked = [`-d ${spec!.clusterIP}/32 -p tcp --dport ${port}`, ...(nodePort === undefined ? [] : [onNodes])];
        return asked.map((match) => `-A ${CHAIN} ${match}${turn} -j DNAT --to-destination ${target}`);
      });
    });
  });
  // Naming the chain empties it.
  return ["*nat", `:${CHAIN} - [0:0]`, ...rules, "COMMIT", ""].join("\n");
}

const hasAddress = ({ spec }: Service): boolean => spec?.clusterIP !== undefined && spec.clusterIP !== "None";

function targetsOf({ ports, endpoints }: EndpointSlice, name: string | undefined): string[] {
  const found = (ports ?? []).find((port) => (port.name ?? "") === (name ?? ""));
  const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
  return found === undefined ? [] : ready.flatMap(({ addresses }) => addresses.map((ip) => `${ip}:${found.port}`));
}
