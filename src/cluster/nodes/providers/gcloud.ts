/** Machines of Google Cloud, by gcloud. */
import { workersError } from "../workers/worker.js";
import type { Machine, MachineStep, Provider } from "./provider.js";
import type { MachineShape } from "./settings.js";

const optional = (flag: string, value: string): string[] => (value === "" ? [] : [`--${flag}=${value}`]);

export const gcloud: Provider = {
  settings: [
    ...(["machineType", "diskGb", "diskType", "network", "subnet", "tags", "labels", "serviceAccount"] as const),
    ...(["scopes", "image", "imageProject", "project"] as const),
  ],
  takesArguments: true,
  steps(verb, worker, userData) {
    const { name, shape, zone } = worker;
    const head = [
      "gcloud",
      "compute",
      "instances",
      verb,
      name,
      `--zone=${zone}`,
      ...optional("project", shape.project),
    ];
    if (verb === "delete") return [{ command: [...head, "--quiet"], doneBefore: about(name, "was not found") }];
    if (zone === "") throw workersError(`gcloud needs a zone for ${name}: give --zones`);
    return [
      { command: [...head, ...creationFlags(worker, userData), "--quiet"], doneBefore: about(name, "already exists") },
    ];
  },
};

/** Said of the instance: a project that is not found, or a disk that exists, is another matter. */
const about = (name: string, what: string) => new RegExp(`/instances/${name}' ${what}`);

function creationFlags({ createArguments = [], shape }: Machine, userData: string): string[] {
  return [
    ...optional("machine-type", shape.machineType),
    ...optional("network", shape.network),
    ...optional("subnet", shape.subnet),
    ...optional("tags", shape.tags),
    ...optional("labels", shape.labels),
    ...optional("service-account", shape.serviceAccount),
    ...optional("scopes", shape.scopes),
    ...optional("image", shape.image),
    ...optional("image-project", shape.imageProject),
    ...optional("boot-disk-size", shape.diskGb === "" ? "" : `${shape.diskGb}GB`),
    ...optional("boot-disk-type", shape.diskType),
    ...createArguments,
    // From a file: everybody on the machine can read a command line.
    `--metadata-from-file=user-data=${userData}`,
  ];
}

interface Opening {
  /** Name of the machines' pool. */
  readonly pool: string;
  /** Of the Ignition server. */
  readonly port: number;
  /** Where the machines' addresses are. */
  readonly networks: readonly string[];
  readonly shape: Pick<MachineShape, "network" | "project" | "tags">;
}

/** The firewall rule by which machines reach an Ignition server in their network; undefined where nothing says who they are. */
export function firewallRule({ networks, pool, port, shape }: Opening): MachineStep | undefined {
  const { network, project, tags } = shape;
  const sources = tags === "" ? optional("source-ranges", networks.join(",")) : optional("source-tags", tags);
  if (sources.length === 0) return undefined;
  const command = [
    ...[
      "gcloud",
      "compute",
      "firewall-rules",
      "create",
      `drawbridge-ignition-${pool}`,
      ...optional("project", project),
    ],
    ...[...optional("network", network), "--direction=INGRESS", `--allow=tcp:${port}`, ...sources, "--quiet"],
  ];
  return { command, doneBefore: /already exists/ };
}
