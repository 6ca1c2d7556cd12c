/** The scripts that bootkube.sh sources, reduced to what it calls. */
import { readFileSync } from "node:fs";

/** image_for asks the release image, which podman plays. */
export const releaseImage = (pullSpec: string): string =>
  [
    "#!/usr/bin/env bash",
    `RELEASE_IMAGE_DIGEST="${pullSpec}"`,
    "image_for() {",
    `    podman run --rm --net=none "\${RELEASE_IMAGE_DIGEST}" image "\${1}"`,
    "}",
    "",
  ].join("\n");

export const serviceRecord = readFileSync(new URL("./service-record.sh", import.meta.url), "utf8");

export const nothing = "#!/usr/bin/env bash\n:\n";
