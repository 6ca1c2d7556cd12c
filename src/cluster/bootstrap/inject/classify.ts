/** Recognises the kind of a bootstrap.ign by the scripts in it. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { openshiftHost } from "../model/names.js";
import { BOOTKUBE, findAnchors, hooks, isPatched, needed, OVERRIDE_FLAG, SOURCE_LINE } from "./bootkube.js";
import { type IgnitionConfig, textOf } from "./ignition-config.js";

/**
 * shim: only points to the real config · bootstrap-in-place: a single node installs itself, nothing to bridge ·
 * ours: injected before · upstream-on/-off: the installer's own integration, enabled or only shipped ·
 * absent: no integration, and every anchor found · unknown: none of these.
 */
export type InjectionState =
  | ("shim" | "bootstrap-in-place" | "ours" | "absent" | "unknown")
  | ("upstream-on" | "upstream-off");

export interface Classification {
  readonly state: InjectionState;
  /** bootkube.sh; empty where there is none. */
  readonly script: string;
  /** Set where nothing can be done. */
  readonly refusal?: DrawbridgeError;
}

const INSTALL_TO_DISK = "/usr/local/bin/install-to-disk.sh";

export function classify(config: IgnitionConfig): Classification {
  const script = textOf(config, BOOTKUBE);
  if (script === undefined) return withoutScript(config);
  const lines = new Set(script.split("\n").map((line) => line.trim()));
  if (lines.has("BOOTSTRAP_INPLACE=true") || config.files.has(INSTALL_TO_DISK))
    return { state: "bootstrap-in-place", script };
  if (isPatched(script)) return { state: "ours", script };
  const functions = textOf(config, openshiftHost.functions);
  const flagged = script.includes(OVERRIDE_FLAG);
  if (flagged && functions?.includes(openshiftHost.certs)) return { state: "upstream-on", script };
  const called = [SOURCE_LINE, ...Object.values(hooks)].filter((line) => lines.has(line));
  if (flagged || called.length > 0) {
    const shippedOnly = !flagged && called.length === 4 && functions !== undefined && doesNothing(functions);
    if (!shippedOnly) return halfway(script);
    return known("upstream-off", script);
  }
  return known("absent", script);
}

function withoutScript({ pointsElsewhere, files }: IgnitionConfig): Classification {
  if (pointsElsewhere) {
    const message = "the config only points to another one (ignition.config.replace or merge) and has no bootkube.sh";
    return { state: "shim", script: "", refusal: new DrawbridgeError("DB_IGNITION_SHIM", message) };
  }
  const message = `the config has no ${BOOTKUBE} among its ${files.size} files, so it is not a bootstrap host's`;
  return { state: "unknown", script: "", refusal: new DrawbridgeError("DB_IGNITION_ANCHORS", message) };
}

function known(state: "absent" | "upstream-off", script: string): Classification {
  const places = findAnchors(script, needed[state]);
  return places instanceof DrawbridgeError ? { state: "unknown", script, refusal: places } : { state, script };
}

function halfway(script: string): Classification {
  const message =
    "bootkube.sh has parts of a Konnectivity integration that is neither switched on nor off; nothing was changed";
  return { state: "unknown", script, refusal: new DrawbridgeError("DB_IGNITION_ANCHORS", message) };
}

/** The installer ships the functions of a feature that is off with nothing but a colon in them. */
function doesNothing(functions: string): boolean {
  return Object.values(hooks).every((name) => {
    const body = new RegExp(`^${name}\\(\\)\\s*\\{\\n([^}]*)^\\}`, "m").exec(functions)?.[1];
    const commands = body?.split("\n").map((line) => line.trim()) ?? [];
    return commands.filter((line) => line !== "" && !line.startsWith("#")).join() === ":";
  });
}
