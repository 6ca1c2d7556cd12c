/** Machines of Google Cloud, by gcloud. */
import { workersError } from "../workers/worker.js";
import type { Provider } from "./provider.js";

export const gcloud: Provider = {
  settings: ["machineType", "diskGb", "subnet", "image", "imageProject", "project"],
  steps(verb, { name, shape, zone }, userData) {
    const optional = (flag: string, value: string) => (value === "" ? [] : [`--${flag}=${value}`]);
    const head = [
      "gcloud",
      "compute",
      "instances",
      verb,
      name,
      `--zone=${zone}`,
      ...optional("project", shape.project),
    ];
    if (verb === "delete") return [{ command: [...head, "--quiet"], doneBefore: /was not found/ }];
    if (zone === "") throw workersError(`gcloud needs a zone for ${name}: give --zones`);
    const command = [
      ...head,
      ...optional("machine-type", shape.machineType),
      ...optional("subnet", shape.subnet),
      ...optional("image", shape.image),
      ...optional("image-project", shape.imageProject),
      ...optional("boot-disk-size", shape.diskGb === "" ? "" : `${shape.diskGb}GB`),
      // From a file: everybody on the machine can read a command line.
      `--metadata-from-file=user-data=${userData}`,
      "--quiet",
    ];
    return [{ command, doneBefore: /already exists/ }];
  },
};
