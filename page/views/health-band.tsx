import { useEffect } from "preact/hooks";
import type { Finding } from "../../src/base/finding.js";
import type { ProcessInfo } from "../../src/insight/observe/admin/contract.js";
import { type Headline, placesOf, type ShownState, tabTitle } from "../../src/insight/watch/view/headline.js";

/** More would push away what the page is for; the rest is in the diagnosis. */
const SHOWN = 8;

interface HealthBandProps {
  readonly headline: Headline;
  readonly findings: readonly Finding[];
  readonly process: ProcessInfo;
}

/** The answer to "is it healthy", with its causes as links to what is known of each. */
export function HealthBand({ headline, findings, process }: HealthBandProps) {
  const { state, word, causes, note } = headline;
  const title = tabTitle(headline, process);
  useEffect(() => {
    document.title = title;
    document.querySelector("link[rel=icon]")?.setAttribute("href", iconOf(state));
  }, [title]);
  const places = placesOf(findings);
  return (
    <section class={`health ${state}`} aria-label="Health">
      <strong role="status">{word}</strong>
      {note !== "" && <p>{note}</p>}
      {causes.length > 0 && (
        <ul>
          {causes.slice(0, SHOWN).map(({ check, text, findings: all }) => {
            const ids = all.map((finding) => places.get(finding) ?? "");
            return (
              <li key={`${check} ${ids[0]}`}>
                <a href={`#${ids[0]}`} onClick={(event) => show(event, ids)}>
                  {text}
                </a>
              </li>
            );
          })}
          {causes.length > SHOWN && <li>and {causes.length - SHOWN} more below</li>}
        </ul>
      )}
    </section>
  );
}

const MARKS: Record<ShownState, string> = {
  healthy: "2e9e5b",
  degraded: "d18700",
  down: "d0342c",
  unknown: "8894a0",
};

/** A dot in the tab. */
const iconOf = (state: ShownState): string =>
  `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'><circle cx='4' cy='4' r='4' fill='%23${MARKS[state]}'/></svg>`;

/** Opens them and goes to the first. */
function show(event: Event, ids: readonly string[]): void {
  event.preventDefault();
  const all = ids.map((id) => document.getElementById(id) as HTMLDetailsElement | null);
  for (const details of all) if (details !== null) details.open = true;
  all[0]?.scrollIntoView({ block: "center" });
  all[0]?.querySelector("summary")?.focus({ preventScroll: true });
}
