import type { TarMember } from "../src/base/tar.js";
import { appLayer } from "./app-layer.js";
import { assemble, type Image } from "./assemble.js";
import { baseLayer, USER } from "./base-layer.js";
import type { Component } from "./contents.js";
import { PATHS } from "./paths.js";
import { about, root } from "./project.js";

export const DEFAULT_NAME = `localhost/drawbridge:${about.version}`;

export interface DrawbridgeImage extends Image {
  /** Everything inside that has a name and a licence of its own. */
  readonly components: readonly Component[];
}

export interface ImageOptions {
  /** A file that ends with .tar, or a folder. */
  readonly out: string;
  readonly name?: string;
  readonly say?: (line: string) => void;
}

/** Writes drawbridge's image. The same bundle and the same pins give the same digest. */
export async function buildImage(options: ImageOptions): Promise<DrawbridgeImage> {
  const { out, name = DEFAULT_NAME, say = () => undefined } = options;
  const base = await baseLayer(say);
  const app = appLayer(root, about);
  const components = [...app.components, ...base.components];
  const contents = `${JSON.stringify(components, null, 2)}\n`;
  const list: TarMember = { path: PATHS.contents, mode: 0o644, content: Buffer.from(contents) };
  say("writing the layers");
  const recipe = {
    name,
    layers: [
      { comment: "Node and its libraries", entries: base.entries },
      { comment: "drawbridge", entries: [...app.entries, list] },
    ],
    config: {
      User: `${USER}:${USER}`,
      Entrypoint: ["/usr/bin/drawbridge"],
      Env: ["PATH=/usr/bin"],
      WorkingDir: "/",
    },
    labels: {
      "org.opencontainers.image.title": about.name,
      "org.opencontainers.image.version": about.version,
      "org.opencontainers.image.description": about.description,
      "org.opencontainers.image.licenses": about.license,
    },
    contents,
  };
  return { ...assemble(recipe, out), components };
}
