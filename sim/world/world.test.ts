import { expect, test } from "vitest";
import { Host } from "./host.js";
import { World } from "./world.js";

/** A run in which timers, turns, ticks and promises are mixed. */
async function run(seed: number): Promise<{ story: string[]; hash: string }> {
  const world = new World({ seed });
  const hosts = ["one", "two"].map((name) => new Host(world, name));
  const story: string[] = [];
  for (const host of hosts) {
    for (let i = 0; i < 20; i++) {
      const ms = host.random.whole(1, 5);
      host.clock.after(ms, () => {
        story.push(`${host.name} ${i}`);
        host.immediate(() => story.push(`${host.name} ${i} immediate`));
      });
    }
  }
  await world.run();
  return { story, hash: world.hash };
}

test("the same seed gives the same events in the same order", async () => {
  expect(await run(7)).toEqual(await run(7));
});

test("another seed gives another order", async () => {
  const [one, two] = [await run(7), await run(8)];
  expect(one.story).not.toEqual(two.story);
  expect(one.hash).not.toBe(two.hash);
});

test("ticks and promises are run to their end before the next event", async () => {
  const world = new World({ seed: 1 });
  const host = new Host(world, "host");
  const story: string[] = [];
  host.after(0, "first", () => {
    story.push("first");
    void Promise.resolve()
      .then(() => {
        story.push("promise");
        process.nextTick(() => story.push("tick of a promise"));
      })
      .then(() => story.push("promise of a promise"));
    host.tick(() => story.push("tick"));
  });
  host.after(0.001, "second", () => story.push("second"));
  await world.run();
  expect(story).toEqual(["first", "tick", "promise", "promise of a promise", "tick of a promise", "second"]);
});

test("timers of one duration fire in the order in which they began, also when they are late", async () => {
  const world = new World({ seed: 3, timerLatenessMs: 10 });
  const host = new Host(world, "host");
  const story: number[] = [];
  for (let i = 0; i < 30; i++) host.clock.after(5, () => story.push(i));
  await world.run();
  expect(story).toEqual([...story].sort((one, two) => one - two));
});

test("a cancelled timer does not fire and is not counted", async () => {
  const world = new World({ seed: 3 });
  const host = new Host(world, "host");
  const cancel = host.clock.after(5, () => expect.unreachable());
  expect(host.timers).toBe(1);
  cancel();
  cancel();
  expect(host.timers).toBe(0);
  await world.run();
});

test("a frozen process runs nothing, and everything that waited once it goes on", async () => {
  const world = new World({ seed: 3 });
  const host = new Host(world, "host");
  const story: string[] = [];
  host.clock.after(5, () => story.push(`timer at ${Math.round(world.now)}`));
  world.after(1, "freeze", () => host.freeze());
  world.after(100, "thaw", () => host.thaw());
  await world.run();
  expect(story).toEqual(["timer at 100"]);
});

test("a killed process runs nothing any more", async () => {
  const world = new World({ seed: 3 });
  const host = new Host(world, "host");
  host.clock.after(5, () => expect.unreachable());
  world.after(1, "kill", () => host.kill());
  await world.run();
});

test("what an event throws is the world's failure", async () => {
  const world = new World({ seed: 3 });
  world.after(1, "mistake", () => {
    throw new Error("a mistake");
  });
  await world.run();
  expect(world.failure).toMatchObject({ property: "no uncaught error", atMs: 1 });
});
