import type { Finding } from "../../src/base/finding.js";

/** What the process' own diagnosis found to be wrong, the worst first, each with its remedy. */
export function Findings({ findings }: { findings: readonly Finding[] | undefined }) {
  if (findings === undefined) return null;
  const wrong = (["failed", "warning"] as const).flatMap((state) => findings.filter((each) => each.state === state));
  return (
    <section class="panel" aria-labelledby="findings-title">
      <h2 id="findings-title">Diagnosis</h2>
      {wrong.length === 0 && <p class="quiet">Nothing wrong was found.</p>}
      <ul class="plain">
        {wrong.map(({ check, subject, state, message, remedy, evidence }) => (
          <li key={`${check} ${subject} ${message}`}>
            <details>
              <summary>
                <span class={`pill ${state === "failed" ? "bad" : "warn"}`}>{state}</span> {message}
              </summary>
              <p>{remedy}</p>
              <ul>
                {evidence.map((line) => (
                  <li key={line} class="quiet">
                    {line}
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
