import { readFileSync } from "node:fs";
import { assemble, type Image } from "../../../../image/assemble.js";
import { component } from "../equipment.js";

const NAME = "lab.drawbridge.test/upstream:1";

/** Upstream's programs under the paths of upstream's own images. They are static: the image holds nothing else. */
export function buildUpstreamImage(archive: string): Image {
  const entries = (["proxy-agent", "proxy-server"] as const).map((name) => ({
    path: name,
    mode: 0o755,
    content: readFileSync(component(name)),
  }));
  return assemble(
    {
      name: NAME,
      layers: [{ comment: "upstream's programs", entries }],
      config: { User: "65532:65532", Entrypoint: ["/proxy-agent"] },
      labels: {},
      contents: "[]\n",
    },
    archive,
  );
}
