import { type Runtime, systemRuntime } from "../runtime.js";

/** Nobody sleeps: waiting moves the clock. `waited` has every wait; `onWait` is what happens meanwhile. */
export function hastyClock(onWait: () => void = () => {}): Runtime & { readonly waited: readonly number[] } {
  let now = Date.parse("2031-01-01T00:00:00Z");
  const waited: number[] = [];
  return {
    ...systemRuntime,
    waited,
    now: () => now,
    date: () => now,
    after(ms, action) {
      const timer = setImmediate(() => {
        waited.push(ms);
        now += ms;
        onWait();
        action();
      });
      return () => clearImmediate(timer);
    },
  };
}
