import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bundledPackages, describePackage, licenceTexts } from "../image/contents.js";
import { fetchNode } from "../image/node-binary.js";
import { NODE } from "../image/pins.js";
import { about, root } from "../image/project.js";

const RULE = "=".repeat(80);

/** Of all that is inside the single executable, as one text: it has no folder to keep them in. */
export async function licencesOfExecutable(say: (line: string) => void): Promise<string> {
  const node = await fetchNode(say);
  const ours = chapter(
    `${about.name} ${about.version} (${about.license})`,
    readFileSync(join(root, "LICENSE"), "utf8"),
  );
  const runtime = chapter(`Node.js ${NODE.version} (${NODE.licence})`, node.licenceText.toString("utf8"));
  return [ours, runtime, licencesOfBundle()].join("\n");
}

/** Of the packages whose code was put into our bundle and into the live page. */
export function licencesOfBundle(): string {
  const chapters = bundledPackages(root).map((folder) => {
    const component = describePackage(folder);
    const texts = licenceTexts(folder, component).map(({ content }) => content?.toString("utf8") ?? "");
    return chapter(`${component.name} ${component.version} (${component.licence})`, ...texts);
  });
  return chapters.join("\n");
}

function chapter(title: string, ...texts: readonly string[]): string {
  return `${RULE}\n${title}\n${RULE}\n\n${texts.map((text) => text.trim()).join("\n\n")}\n`;
}
