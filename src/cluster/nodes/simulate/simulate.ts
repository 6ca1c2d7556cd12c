/** The node's side of a first boot, without a machine: user data in, a directory as Ignition would have left it out. */
import { createHash } from "node:crypto";
import { chmod, link, lstat, readdir, readlink, rm, symlink } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { DrawbridgeError, messageOf, unwrittenRemedy, wrapWrites } from "../../../base/errors/error.js";
import { createFile, makeDirectory } from "../../../base/files.js";
import type { Config, FileEntry, NodeEntry, Resource, Unit } from "../../ignition/config.js";
import { requireConfig } from "../../ignition/parse.js";
import { render } from "../../ignition/render.js";
import { Fetcher, type FetcherOptions } from "./fetcher.js";

interface SimulationOptions extends FetcherOptions {
  /** The pointer config. */
  readonly userData: Buffer | string;
  readonly root: string;
}

export type Simulated = Awaited<ReturnType<typeof simulateBoot>>;

/** Throws DB_IGNITION_*, DB_SIMULATE_FETCH and DB_SIMULATE_ROOT; what was written until then stays to be looked at. */
export async function simulateBoot(options: SimulationOptions) {
  const { root, userData, ...rest } = options;
  const pointer = requireConfig(userData, "the user data");
  const tree = await Tree.at(root);
  const fetcher = new Fetcher(rest);
  const config = await render(pointer, fetcher.config);
  const applied = await applyConfig(tree, config, (resource, what) => fetcher.content(resource, config, what));
  return { ...applied, tree };
}

type Content = (resource: Resource, what: string) => Promise<Buffer>;

const FILE_MODE = 0o644;
/** Special bits came with spec 3.6; before it they are ignored. */
const permissions = (mode: number) => mode & 0o777;

/** Writes a rendered config into a directory, in the order and with the rules of Ignition's files stage. */
async function applyConfig(tree: Tree, config: Config, content: Content) {
  const { directories = [], files = [], links = [] } = config.storage ?? {};
  const written: Awaited<ReturnType<typeof applyFile>>[] = [];
  const entries = [
    ...directories.map((node) => ({ node, apply: () => tree.directory(node.path) })),
    ...files.map((node) => ({ node, apply: async () => void written.push(await applyFile(tree, node, content)) })),
    ...links
      .filter(({ hard }) => !hard)
      .map((node) => ({ node, apply: () => tree.symlink(node.path, node.target ?? "") })),
  ];
  for (const { apply } of entries.sort((a, b) => depth(a.node) - depth(b.node))) await apply();
  // Last, since what they lead to may be deeper than they are.
  for (const { hard, path, target } of links) if (hard) await tree.hardLink(path, target ?? "");
  const units = config.systemd?.units ?? [];
  await applyUnits(tree, units);
  // A directory that nobody may write to must get its contents first.
  for (const { mode, path } of [...directories].reverse()) {
    if (mode !== undefined) await tree.mode(path, permissions(mode));
  }
  return {
    files: written,
    directories: directories.length,
    links: links.length,
    units: units.length,
    skipped: skippedParts(config, [...directories, ...files, ...links]),
  };
}

async function applyFile(tree: Tree, file: FileEntry, content: Content) {
  const { append = [], contents, mode = FILE_MODE, path } = file;
  const parts = [...(contents?.source === undefined ? [] : [contents]), ...append];
  const pieces: Buffer[] = [];
  for (const part of parts) pieces.push(await content(part, `the content of ${path}`));
  const whole = Buffer.concat(pieces);
  await tree.write(path, whole, permissions(mode));
  return {
    path,
    mode: permissions(mode).toString(8).padStart(4, "0"),
    bytes: whole.length,
    // Instead of the contents, which are not shown.
    sha256: createHash("sha256").update(whole).digest("hex"),
  };
}

/** What a directory cannot take, and an administrator of this host need not give. */
function skippedParts(config: Config, nodes: readonly NodeEntry[]) {
  const { disks = [], filesystems = [], luks = [], raid = [] } = config.storage ?? {};
  const { groups = [], users = [] } = config.passwd ?? {};
  const { shouldExist = [], shouldNotExist = [] } = config.kernelArguments ?? {};
  const owned = nodes.filter(({ group, user }) => isSomebodys(user) || isSomebodys(group));
  const all = [
    { what: "users", names: users.map(({ name }) => name) },
    { what: "groups", names: groups.map(({ name }) => name) },
    { what: "owners", names: owned.map(({ path }) => path) },
    { what: "disks", names: disks.map(({ device }) => device) },
    { what: "RAID arrays", names: raid.map(({ name }) => name) },
    { what: "encrypted volumes", names: luks.map(({ name }) => name) },
    { what: "filesystems", names: filesystems.map(({ device }) => device) },
    { what: "kernel arguments", names: [...shouldExist, ...shouldNotExist] },
  ];
  return all.filter(({ names }) => names.length > 0);
}

function isSomebodys(owner: NodeEntry["user"]): boolean {
  return (owner?.id ?? 0) !== 0 || (owner?.name ?? "root") !== "root";
}

function depth({ path }: NodeEntry): number {
  return path.split("/").filter(Boolean).length;
}

const FOLDER = "/etc/systemd/system";
const PRESET_FILE = "/etc/systemd/system-preset/20-ignition.preset";

/** Units as Ignition writes them: files, drop-ins, links to /dev/null, and one preset file. */
async function applyUnits(tree: Tree, units: readonly Unit[]): Promise<void> {
  for (const { contents, dropins = [], mask, name } of units) {
    for (const dropin of dropins) {
      if (dropin.contents === undefined) continue;
      await tree.write(`${FOLDER}/${name}.d/${dropin.name}`, dropin.contents, FILE_MODE, { over: true });
    }
    if (contents) await tree.write(`${FOLDER}/${name}`, contents, FILE_MODE, { over: true });
    if (mask) await tree.symlink(`${FOLDER}/${name}`, "/dev/null", { over: true });
  }
  const presets = presetLines(units);
  if (presets.length > 0) await tree.write(PRESET_FILE, presets.map((line) => `${line}\n`).join(""), FILE_MODE);
}

/** Disabling writes nothing: on a new root no unit is enabled that could be disabled. */
function presetLines(units: readonly Unit[]): string[] {
  const enabled = new Map<string, string[]>();
  for (const { enabled: isEnabled, name } of units) {
    if (!isEnabled) continue;
    // echo@a.service and echo@b.service are one line: echo@.service a b
    const [, before = name, instance, suffix = ""] = /^([^@]*@)(.*)(\.[^.]*)$/.exec(name) ?? [];
    const key = before + suffix;
    enabled.set(key, [...(enabled.get(key) ?? []), ...(instance === undefined ? [] : [instance])]);
  }
  // Sorted as Ignition does, with what it appends to the names.
  const sorted = [...enabled].sort(([a], [b]) => (`${a}-enabled` < `${b}-enabled` ? -1 : 1));
  return sorted.map(([name, instances]) => ["enable", name, ...instances].join(" "));
}

/** The kernel follows as many. */
const MOST_LINKS = 40;
const DIRECTORY_MODE = 0o755;

/** A directory that is the whole file system for a simulated machine: no path and no link leads out of it. */
export class Tree {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Only a new or an empty directory: what is there already is somebody's. */
  static async at(path: string): Promise<Tree> {
    const root = resolve(path);
    await wrapWrites("DB_SIMULATE_ROOT", `${root} cannot be a machine's root`, async () => {
      // The configuration of machines is not for every user of this host.
      await makeDirectory(root, 0o700);
      if ((await readdir(root)).length > 0) throw new Error("it is not empty; name a new directory");
    });
    return new Tree(root);
  }

  /** Where a path of the machine is on this host; links on the way are followed as the machine would, the last is not. */
  async place(path: string): Promise<string> {
    const rest = partsOf(path);
    const last = rest.pop();
    if (last === ".." || last === undefined) throw this.#refused(path, "it names no entry of a directory");
    const place = join(await this.#followed(path, rest), last);
    if (!place.startsWith(this.root + sep)) throw this.#refused(path, "it leads out of the root");
    return place;
  }

  async #followed(path: string, parts: readonly string[]): Promise<string> {
    let at = this.root;
    let links = 0;
    const rest = [...parts];
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      const next = part === ".." ? (at === this.root ? at : dirname(at)) : join(at, part);
      const target = await readlink(next).catch(() => undefined);
      if (target === undefined) at = next;
      else {
        links += 1;
        if (links > MOST_LINKS) throw this.#refused(path, "too many links lead to each other");
        if (target.startsWith("/")) at = this.root;
        rest.unshift(...partsOf(target));
      }
    }
    return at;
  }

  async write(path: string, content: Buffer | string, mode: number, options: { readonly over?: boolean } = {}) {
    const place = await this.#prepared(path);
    await this.#did(path, async () => {
      if (options.over) await rm(place, { force: true });
      await createFile(place, content, mode);
    });
  }

  async directory(path: string): Promise<void> {
    const place = await this.#withoutLink(path);
    await this.#did(path, () => makeDirectory(place, DIRECTORY_MODE));
  }

  async mode(path: string, mode: number): Promise<void> {
    const place = await this.#withoutLink(path);
    await this.#did(path, () => chmod(place, mode));
  }

  async symlink(path: string, target: string, options: { readonly over?: boolean } = {}): Promise<void> {
    const place = await this.#prepared(path);
    await this.#did(path, async () => {
      if (options.over) await rm(place, { recursive: true, force: true });
      await symlink(target, place);
    });
  }

  async hardLink(path: string, target: string): Promise<void> {
    const from = await this.place(target);
    const place = await this.#prepared(path);
    await this.#did(path, () => link(from, place));
  }

  /** Where the file of that path is on this host, links followed as the machine would; undefined when there is none. */
  async file(path: string): Promise<string | undefined> {
    const place = await this.#followed(path, partsOf(path));
    const found = await lstat(place).catch(() => undefined);
    return found?.isFile() ? place : undefined;
  }

  /** The kernel would follow it, and not as the machine does. */
  async #withoutLink(path: string): Promise<string> {
    const place = await this.place(path);
    const found = await lstat(place).catch(() => undefined);
    if (found?.isSymbolicLink()) throw this.#refused(path, "a link is there");
    return place;
  }

  async #prepared(path: string): Promise<string> {
    const place = await this.place(path);
    await this.#did(path, () => makeDirectory(dirname(place), DIRECTORY_MODE));
    return place;
  }

  async #did(path: string, action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      throw this.#refused(path, code === "EEXIST" ? "something is there already" : messageOf(reason), reason);
    }
  }

  #refused(path: string, why: string, cause?: unknown): DrawbridgeError {
    const sentence = `${path} cannot be written below ${this.root}: ${why}`;
    return new DrawbridgeError("DB_SIMULATE_ROOT", sentence, { cause, remedy: unwrittenRemedy(cause) });
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
