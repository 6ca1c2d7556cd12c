/** Brings the definitions from their Go modules, by name and version, into the cache the other real peers live in. */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import { cacheFolder } from "../../../peers/cache.js";
import { type ProviderCrd, type ProviderKind, providerCrds, routeCrd } from "./catalogue.js";

const execute = promisify(execFile);
const MINUTES = 60_000;

interface CustomResourceDefinition {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: { conversion?: unknown };
}

/** Undefined means "skip, the reason is printed"; with DRAWBRIDGE_REQUIRE_PEERS=1 it is a failure instead. */
export function requireProviderCrds(): Promise<Readonly<Record<ProviderKind, CustomResourceDefinition>> | undefined> {
  return orSkip(async () => {
    const loaded: [string, CustomResourceDefinition][] = [];
    for (const [kind, crd] of Object.entries(providerCrds)) loaded.push([kind, await load(crd)]);
    return Object.fromEntries(loaded) as Record<ProviderKind, CustomResourceDefinition>;
  });
}

/** OpenShift's Route, as requireProviderCrds. */
export function requireRouteCrd(): Promise<CustomResourceDefinition | undefined> {
  return orSkip(() => load(routeCrd));
}

async function orSkip<T>(bring: () => Promise<T>): Promise<T | undefined> {
  try {
    return await bring();
  } catch (error) {
    const reason = `real resource definitions cannot be fetched (needs Go and its module proxy): ${(error as Error).message}`;
    if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(reason);
    process.stderr.write(`skipped: ${reason}\n`);
    return undefined;
  }
}

async function load(crd: ProviderCrd): Promise<CustomResourceDefinition> {
  const cached = join(cacheFolder(), "provider-crds", `${crd.module}@${crd.version}`, basename(crd.file));
  if (!existsSync(cached)) await fetch(crd, cached);
  const definition = parse(readFileSync(cached, "utf8")) as CustomResourceDefinition;
  // Versions are converted by the provider's own webhook, which does not run here; every version is checked as it is.
  delete definition.spec.conversion;
  return definition;
}

async function fetch({ module, version, file }: ProviderCrd, target: string): Promise<void> {
  const { stdout } = await execute("go", ["mod", "download", "-json", `${module}@${version}`], {
    // Outside our own modules, whose go.mod must not change.
    cwd: "/",
    env: { ...process.env, GOFLAGS: "-mod=mod", GOWORK: "off" },
    timeout: 5 * MINUTES,
    maxBuffer: 4 * 1024 * 1024,
  }).catch((error: { stdout?: string; message: string }) => {
    throw new Error(errorIn(error.stdout) ?? error.message);
  });
  const { Dir } = JSON.parse(stdout) as { Dir: string };
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.${process.pid}`;
  copyFileSync(join(Dir, file), unfinished);
  renameSync(unfinished, target);
}

function errorIn(stdout = ""): string | undefined {
  try {
    return (JSON.parse(stdout) as { Error?: string }).Error;
  } catch {
    return undefined;
  }
}
