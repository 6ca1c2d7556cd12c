import type { Finding } from "../../src/base/finding.js";
import { placesOf } from "../../src/insight/watch/view/headline.js";

/** What the process' own diagnosis found to be wrong, the worst first, each with its remedy. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  const wrong = (["failed", "warning"] as const).flatMap((state) => findings.filter((each) => each.state === state));
  if (wrong.length === 0) return null;
  const places = placesOf(findings);
  return (
    <section class="panel findings" aria-labelledby="findings-title">
      <h2 id="findings-title">Diagnosis</h2>
      <ul class="plain">
        {wrong.map((finding) => (
          <li key={places.get(finding)}>
            <details id={places.get(finding)}>
              <summary>
                <span class={`pill ${finding.state === "failed" ? "bad" : "warn"}`}>{finding.state}</span>{" "}
                {finding.message}
              </summary>
              <p class="remedy name">{finding.remedy}</p>
              {finding.evidence.length > 0 && (
                <ul>
                  {finding.evidence.map((line) => (
                    <li key={line} class="quiet name">
                      {line}
                    </li>
                  ))}
                </ul>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}
