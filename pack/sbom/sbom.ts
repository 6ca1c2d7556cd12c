import { createHash } from "node:crypto";
import type { Component } from "../../image/contents.js";
import { NODE } from "../../image/pins.js";
import type { About } from "../../image/project.js";
import { allPackages, type Installed, installedWithUs, type Lockfile } from "./lockfile.js";

/** In which of the forms we ship a component is. */
type Form = "npm package" | "executable" | "image";

export interface SbomSources {
  readonly about: About;
  readonly lockfile: Lockfile;
  /** What the image contains, ourselves included. */
  readonly image: readonly Component[];
}

/** What all shipped forms are made of, as CycloneDX 1.5 has it. The same sources give the same text. */
export function sbom({ about, lockfile, image }: SbomSources): string {
  const installed = installedWithUs(lockfile);
  const bundled = new Set(image.filter(({ from }) => from === "npm").map(npmUrl));
  // The page's packages are installed with nobody, but their code is in it.
  const inPage = [...allPackages(lockfile)].filter(
    ([folder, one]) => !installed.has(folder) && bundled.has(urlOf(one)),
  );
  const packages = [...installed, ...inPage].filter(([folder]) => folder !== "");
  // One package may be installed in several folders; it is one component all the same.
  const npm = new Map(packages.map(([, one]) => [urlOf(one), npmComponent(one, bundled.has(urlOf(one)))]));
  const others = image.filter((one) => one.from === "debian" || one.name === NODE.package).map(systemComponent);
  const us = npmUrl(about);
  const content = {
    metadata: {
      component: {
        type: "application",
        "bom-ref": us,
        name: about.name,
        version: about.version,
        description: about.description,
        licenses: [{ expression: about.license }],
        purl: us,
      },
    },
    components: [...npm.values(), ...others].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
    dependencies: dependencies(installed, us, [...others, ...inPage.map(([, one]) => ({ purl: urlOf(one) }))]),
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`;
  const document = { bomFormat: "CycloneDX", specVersion: "1.5", serialNumber, version: 1, ...content };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function npmComponent({ name, locked }: Installed, isBundled: boolean) {
  if (locked.license === undefined) throw new Error(`${name} ${locked.version} names no licence.`);
  return component(npmUrl({ name, version: locked.version }), {
    ...{ name, version: locked.version, licence: locked.license },
    forms: isBundled ? ["npm package", "executable", "image"] : ["npm package"],
    hashes: hashesOf(locked.integrity),
  });
}

function systemComponent({ name, version, licence, from }: Component) {
  if (from === "debian") return component(debianUrl(name, version), { name, version, licence, forms: ["image"] });
  // Advisories know Node by its own name, not by that of the npm package which carries its binary.
  const cpe = `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`;
  return component(npmUrl({ name, version }), {
    ...{ name, version, licence, cpe },
    forms: ["executable", "image"],
    hashes: hashesOf(NODE.integrity),
  });
}

interface Facts {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  readonly forms: readonly Form[];
  readonly hashes?: readonly object[];
  readonly cpe?: string;
}

function component(purl: string, { licence, forms, ...facts }: Facts) {
  return {
    type: "library",
    "bom-ref": purl,
    ...facts,
    licenses: [{ expression: licence }],
    purl,
    properties: forms.map((value) => ({ name: "drawbridge:shipped-in", value })),
  };
}

function dependencies(installed: Map<string, Installed>, us: string, others: readonly { purl: string }[]) {
  const refs = new Map([[us, new Set(others.map(({ purl }) => purl))]]);
  for (const [folder, one] of installed) {
    const ref = folder === "" ? us : urlOf(one);
    const targets = refs.get(ref) ?? new Set();
    for (const target of one.dependsOn) targets.add(urlOf(installed.get(target)!));
    refs.set(ref, targets);
  }
  for (const { purl } of others) refs.set(purl, new Set());
  const sorted = [...refs].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([ref, targets]) => ({ ref, dependsOn: [...targets].sort() }));
}

const urlOf = ({ name, locked }: Installed): string => npmUrl({ name, version: locked.version });

/** Package URLs, as https://github.com/package-url/purl-spec has them. */
function npmUrl({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function debianUrl(name: string, version: string): string {
  return `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=amd64&distro=debian-12`;
}

function hashesOf(integrity: string | undefined): object[] {
  const [, base64] = /^sha512-(\S+)$/.exec(integrity ?? "") ?? [];
  return base64 === undefined ? [] : [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }];
}

/** A serial number must look like a UUID; this one says what it is about instead of being random. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `5${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ];
  return groups.join("-");
}
