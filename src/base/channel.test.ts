import { afterEach, describe, expect, test, vi } from "vitest";
import * as channels from "../tunnel/events/channels.js";
import { Channel, type Sourced } from "./channel.js";

interface Rang extends Sourced {
  readonly count: number;
}

describe("Channel", () => {
  const bell = new Channel<Rang>("shared", "test-bell");
  const endings: (() => void)[] = [];
  afterEach(() => {
    for (const end of endings.splice(0)) end();
  });

  test("tells every listener until it unsubscribes", () => {
    const heard: number[] = [];
    const end = bell.subscribe((message) => heard.push(message.count));
    expect(bell.hasSubscribers).toBe(true);
    bell.publish({ source: {}, count: 1 });
    end();
    bell.publish({ source: {}, count: 2 });
    expect(heard).toEqual([1]);
    expect(bell.hasSubscribers).toBe(false);
  });

  test("keeps two sources in one process apart", () => {
    const first = { id: "same" };
    const second = { id: "same" };
    const heard: number[] = [];
    endings.push(bell.subscribe((message) => heard.push(message.count), first));
    bell.publish({ source: second, count: 1 });
    bell.publish({ source: first, count: 2 });
    expect(heard).toEqual([2]);
  });

  test("turns a failing listener into a warning and still tells the others", async () => {
    const warned = vi.fn<(warning: Error) => void>();
    process.on("warning", warned);
    endings.push(() => process.off("warning", warned));
    const heard: number[] = [];
    endings.push(
      bell.subscribe(() => {
        throw new Error("spilled ink");
      }),
      bell.subscribe((message) => heard.push(message.count)),
    );
    bell.publish({ source: {}, count: 7 });
    expect(heard).toEqual([7]);
    await expect.poll(() => warned.mock.calls).not.toHaveLength(0);
    expect(warned.mock.calls[0]?.[0].message).toContain("drawbridge:shared:test-bell");
    expect(warned.mock.calls[0]?.[0].message).toContain("spilled ink");
  });
});

describe("the channels", () => {
  test("have distinct names of the documented shape", () => {
    const names = Object.values(channels).map((channel) => channel.name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^drawbridge:(server|agent|shared):[a-z-]+$/);
  });
});
