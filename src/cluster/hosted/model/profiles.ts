/** How projects that host control planes wire their tunnel: ports, transports and keepers, as their own manifests have them. */

/** How callers reach a server: by HTTP CONNECT with certificates, or by gRPC at a socket inside the pod. */
type FrontendKind = "tcp" | "uds";

interface Profile {
  readonly ports: {
    /** For callers of the tunnel; not used with a socket. */
    readonly frontend: number;
    readonly agent: number;
    readonly health: number;
    readonly admin: number;
  };
  /** What there is, the default first. */
  readonly frontends: readonly [FrontendKind, ...FrontendKind[]];
  /** Whether OpenShift's components run in the control plane, with proxies beside them. */
  readonly hasComponents: boolean;
  /** Whose operator makes the objects itself: of these only the images are ours to choose. */
  readonly keeper?: Keeper;
}

interface Keeper {
  readonly project: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Where in the resource's spec the programs are, outermost first. */
  readonly path: readonly string[];
}

const UPSTREAM_PORTS = { frontend: 8131, agent: 8132, admin: 8133, health: 8134 } as const;

export const PROFILES = {
  hypershift: {
    ports: { frontend: 8090, agent: 8091, health: 2041, admin: 8093 },
    frontends: ["tcp"],
    hasComponents: true,
  },
  generic: { ports: UPSTREAM_PORTS, frontends: ["uds", "tcp"], hasComponents: false },
  kamaji: {
    ports: UPSTREAM_PORTS,
    frontends: ["uds"],
    hasComponents: false,
    keeper: {
      project: "Kamaji",
      apiVersion: "kamaji.clastix.io/v1alpha1",
      kind: "TenantControlPlane",
      path: ["addons", "konnectivity"],
    },
  },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES) as ProfileName[];

export const profileOf = (name: ProfileName): Profile => PROFILES[name];
