import about from "../../../package.json" with { type: "json" };

/** The build puts it into the executables. */
export function version(): string {
  return about.version;
}
