/** One file of a bundle, packed or not; its path begins at the bundle's root: `bootstrap/services/bootkube.json`. */
export type { TarEntry as BundleEntry } from "../../../../base/tar.js";
