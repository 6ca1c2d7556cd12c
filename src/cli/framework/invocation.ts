/** What a command line turns into. */

export interface LoggingOptions {
  /** klog's --v. */
  readonly verbosity: number;
  readonly format: "text" | "json";
}

export type Invocation<Config> =
  | { readonly help: string }
  | {
      readonly help?: undefined;
      readonly config: Config;
      readonly logging: LoggingOptions;
      /** For stderr, one sentence each. */
      readonly warnings: readonly string[];
    };

export type Environment = Readonly<Record<string, string | undefined>>;
