/** The arguments of Google's own command-line tool. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { Worker } from "./worker.js";

export function gcloudCreate({ name, shape, zone }: Worker, userDataFile: string): string[] {
  if (zone === "") throw new DrawbridgeError("DB_WORKERS", `gcloud needs a zone for ${name}: give --zones`);
  const optional = (flag: string, value: string) => (value === "" ? [] : [`--${flag}=${value}`]);
  return [
    ...["gcloud", "compute", "instances", "create", name, `--zone=${zone}`],
    ...optional("project", shape.project),
    ...optional("machine-type", shape.machineType),
    ...optional("subnet", shape.subnet),
    ...optional("image", shape.image),
    ...optional("image-project", shape.imageProject),
    ...optional("boot-disk-size", shape.diskGb === "" ? "" : `${shape.diskGb}GB`),
    // From a file: what stands on a command line can be read by everybody on the machine.
    `--metadata-from-file=user-data=${userDataFile}`,
    "--quiet",
  ];
}

export function gcloudDelete({ name, shape, zone }: Worker): string[] {
  const project = shape.project === "" ? [] : [`--project=${shape.project}`];
  return ["gcloud", "compute", "instances", "delete", name, `--zone=${zone}`, ...project, "--quiet"];
}
