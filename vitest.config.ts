import { defineConfig } from "vitest/config";

/** It drives the Go originals as well as ours. */
const BENCH_SMOKE = "bench/smoke.test.ts";

/** Each starts real processes, shells or whole servers and agents, and some of them are killed. */
const PROCESS_TESTS = "src/**/*.process.test.ts";

/** A control plane of pods under traffic, whose callers wait seconds and not minutes: a lab beside it would starve it. */
const ALONE = "test/e2e/hosted-cluster.test.ts";

/** For the suites with a cluster. */
const IN_THE_LAB = { testTimeout: 180_000, hookTimeout: 300_000, expect: { poll: { timeout: 30_000 } } };

/** For the suites that need nothing but Node. */
const ON_ANY_MACHINE = {
  // Far more than any needs by itself: a machine may be busy with other things.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 10_000 } },
  // Vitest would leave one core to others, which on two is half of them.
  maxWorkers: "100%",
};

// Six kinds of test, each a command of its own: see CONTRIBUTING.md.
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "src/**/*.test.ts",
            "peers/**/*.test.ts",
            "bench/**/*.test.ts",
            "attack/**/*.test.ts",
            "soak/**/*.test.ts",
            "image/**/*.test.ts",
            "pack/**/*.test.ts",
            "alerts/**/*.test.ts",
            "docs-check/**/*.test.ts",
            "sim/**/*.test.ts",
          ],
          exclude: [BENCH_SMOKE, PROCESS_TESTS],
          ...ON_ANY_MACHINE,
        },
      },
      {
        test: {
          name: "processes",
          include: ["test/processes/**/*.test.ts", PROCESS_TESTS],
          ...ON_ANY_MACHINE,
        },
      },
      {
        test: {
          name: "interop",
          include: ["test/interop/**/*.test.ts", "test/support/netns/**/*.test.ts", BENCH_SMOKE],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } },
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["test/e2e/**/*.test.ts"],
          exclude: [ALONE],
          ...IN_THE_LAB,
          // A lab mostly waits for its kubelets; everything it makes carries the id of its process.
          maxWorkers: 2,
        },
      },
      { test: { name: "e2e-alone", include: [ALONE], ...IN_THE_LAB, sequence: { groupOrder: 1 } } },
      {
        test: {
          name: "mistakes",
          include: ["test/mistakes/**/*.test.ts"],
          globalSetup: ["test/mistakes/framework/score.ts"],
          testTimeout: 180_000,
          hookTimeout: 300_000,
          // A row mostly waits for its processes, which have a network of their own.
          maxConcurrency: 3,
          maxWorkers: 2,
        },
      },
      { test: { name: "fuzz", include: ["src/**/*.fuzz.ts"], testTimeout: 900_000 } },
    ],
  },
});
