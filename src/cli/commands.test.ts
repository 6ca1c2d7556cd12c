/** What every command of drawbridge has, whatever it does. */
import { expect, test } from "vitest";
import { drawbridge } from "./commands.js";
import { parseFlags } from "./flags/parse.js";
import type { CommandPage, Runnable } from "./framework/define.js";
import { everyCommand } from "./framework/family.js";
import { helpPage } from "./framework/help.js";
import agentCommand from "./tunnel/agent.js";
import { httpsProxyCommand, socks5ProxyCommand } from "./tunnel/konnectivity.js";
import serverCommand from "./tunnel/server.js";

const programs: Readonly<Record<string, Runnable>> = {
  drawbridge,
  "proxy-server": serverCommand,
  "proxy-agent": agentCommand,
  "konnectivity-https-proxy": httpsProxyCommand,
  "konnectivity-socks5-proxy": socks5ProxyCommand,
};
const pages = new Map<string, CommandPage>();
for (const [program, command] of Object.entries(programs)) {
  for await (const [name, each] of everyCommand(program, command)) {
    const page = each.page(name, {});
    if ("flags" in page) pages.set(name, page);
  }
}
const all = [...pages];

/** Quoted words stay whole. */
const wordsOf = (line: string): string[] =>
  [...line.replaceAll("\\\n", " ").matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replace(/["']/g, ""),
  );

test("there are as many commands as people know", () => {
  expect(all.length).toBeGreaterThan(50);
});

test.each(all)("%s has examples that its own flags take", (name, { examples, flags }) => {
  expect(examples.length).toBeGreaterThan(0);
  const called = [name, name.replace("drawbridge ", ""), `proxy-${name.replace("drawbridge ", "")}`];
  const own = examples.flatMap((example) => {
    const line = example.replace(/ [|>] .*$/, "");
    const begin = called.find((each) => line.startsWith(`${each} `) || line === each);
    return begin === undefined ? [] : [line.slice(begin.length)];
  });
  expect(own.length).toBeGreaterThan(0);
  for (const line of own) expect(() => parseFlags(flags, wordsOf(line))).not.toThrow();
});

test.each(all)("help of %s fits 80 columns", (program, page) => {
  const long = helpPage({ program, ...page }, 80).split("\n");
  expect(long.filter((line) => line.length > 80)).toEqual([]);
});

test.each(all)("%s takes -o wherever it takes --output", (_, { flags }) => {
  if (flags.output !== undefined) expect(flags.output.shorthand).toBe("o");
});

test.each(all)("--for of %s is a time, as everywhere", (_, { flags }) => {
  if (flags.for !== undefined) expect(flags.for.kind.typeName).toBe("duration");
});
