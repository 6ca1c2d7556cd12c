import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder, shelve } from "./cache.js";
import { command } from "./command.js";
import { DEBIAN_PINS } from "./pins.js";

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  /** Its files, unpacked. */
  readonly folder: string;
}

/** Fails with one sentence where packages cannot be had. */
export async function requireDebian(): Promise<void> {
  for (const program of ["apt-get", "dpkg-deb"]) {
    const { code } = await command(program, ["--version"]);
    if (code !== 0)
      throw new Error(
        `The image takes its libraries from Debian packages, and ${program} is not here: build it on Debian 12.`,
      );
  }
  const architecture = (await command("dpkg", ["--print-architecture"])).stdout.trim();
  if (architecture !== "amd64") throw new Error(`Images are made for amd64 only, and this machine is ${architecture}.`);
}

/** Brings a package into the cache, by its pinned version if the configured sources still offer it. */
export async function fetchPackage(name: string, say: (line: string) => void): Promise<DebianPackage> {
  const pin = DEBIAN_PINS[name];
  if (pin !== undefined && existsSync(unpackedAt(name, pin.version))) {
    return { name, version: pin.version, folder: unpackedAt(name, pin.version) };
  }
  mkdirSync(shelf(), { recursive: true });
  const desk = mkdtempSync(join(shelf(), "new-"));
  try {
    return await fetchInto(desk, name, say);
  } finally {
    rmSync(desk, { recursive: true, force: true });
  }
}

async function fetchInto(desk: string, name: string, say: (line: string) => void): Promise<DebianPackage> {
  const pin = DEBIAN_PINS[name];
  say(`downloading ${name} ${pin?.version ?? "(any version)"}`);
  const file = (pin && (await download(desk, `${name}=${pin.version}`))) ?? (await download(desk, name));
  if (file === undefined) throw new Error(`apt-get cannot download ${name}: run apt-get update, then this again.`);
  const version = (await must("dpkg-deb", ["--field", file, "Version"])).trim();
  if (version === pin?.version) checkSum(file, name, pin.sha256);
  else say(`${name} is ${version}, not the pinned ${pin?.version ?? "one"}: this system does not offer that`);
  const folder = unpackedAt(name, version);
  await must("dpkg-deb", ["--extract", file, join(desk, "files")]);
  shelve(join(desk, "files"), folder);
  return { name, version, folder };
}

async function download(desk: string, what: string): Promise<string | undefined> {
  // Root downloads as root: apt's own user cannot write into this user's cache.
  const { code } = await command("apt-get", ["-qq", "-o", "APT::Sandbox::User=root", "download", what], desk);
  const file = readdirSync(desk).find((entry) => entry.endsWith(".deb"));
  return code === 0 && file !== undefined ? join(desk, file) : undefined;
}

function checkSum(file: string, name: string, wanted: string): void {
  const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
  if (sum !== wanted)
    throw new Error(`The downloaded ${name} has the checksum ${sum}, not the pinned one; it is not used.`);
}

async function must(program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(program, args);
  if (code !== 0) throw new Error(`${program} ${args[0]} failed: ${stderr.trim()}`);
  return stdout;
}

const shelf = (): string => join(cacheFolder(), "image");
const unpackedAt = (name: string, version: string): string => join(shelf(), `${name}_${version}`);
